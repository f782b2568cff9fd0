package feasibility

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// Entra takes tokens whose times are wrong by up to five minutes.
const (
	clockWarned = time.Minute
	clockFailed = 5 * time.Minute
)

func (e *examination) signIn(ctx context.Context) preflight.Check {
	const name = "credentials"
	if err := e.s.SignIn(ctx); err != nil {
		return preflight.OfError(name, preflight.Fail, err, "correct the file of --azure-creds")
	}
	who := e.s.ClientID
	if who == "" {
		who = "the signed-in person"
	}
	return preflight.Verdict(name, preflight.Fail, true, who+" signs in", "")
}

// subscription is its state, and this machine's clock against Azure's.
func (e *examination) subscription(ctx context.Context) []preflight.Check {
	const name, clock = "subscription", "clock"
	found, err := e.s.Subscription(ctx)
	if err != nil {
		return one(preflight.OfError(name, preflight.Fail, err, "check subscriptionId of the credentials file"))
	}
	// Azure serves the first three; it warns of what is about to be disabled.
	bad := preflight.Fail
	if found.State == "Warned" || found.State == "PastDue" {
		bad = preflight.Warn
	}
	checks := one(preflight.Verdict(name, bad, found.State == "Enabled", e.s.SubscriptionID+" is "+found.State, "have its owner enable it; `az account list --all` prints the state"))
	if found.Clock.IsZero() {
		return append(checks, preflight.Skipped(clock, "Azure's answer has no date", "compare the clock with another one"))
	}
	off := found.At.Sub(found.Clock).Abs()
	bad = preflight.Warn
	if off >= clockFailed {
		bad = preflight.Fail
	}
	return append(checks, preflight.Verdict(clock, bad, off < clockWarned, fmt.Sprintf("%s from Azure's", off.Truncate(time.Second)), "set this machine's clock (timedatectl set-ntp true): Entra refuses tokens whose times are wrong"))
}

func (e *examination) region(ctx context.Context) []preflight.Check {
	const name = "region"
	names, err := e.s.Locations(ctx)
	if err != nil {
		return unanswered(name, err)
	}
	slices.Sort(names)
	detail := e.Infra.Location
	ok := slices.Contains(names, e.Infra.Location)
	if !ok {
		detail = fmt.Sprintf("%q is no region of the subscription, which has %s", e.Infra.Location, strings.Join(names, ", "))
	}
	return one(preflight.Verdict(name, preflight.Fail, ok, detail, "name one of them by --location"))
}

// providers are the namespaces of resource providers that the subscription has to have registered.
func (e *examination) providers(ctx context.Context) []preflight.Check {
	needed := infra.Namespaces(e.s, e.Infra)
	looks := make([]look, len(needed))
	for i, namespace := range needed {
		looks[i].at = func(ctx context.Context) []preflight.Check { return e.provider(ctx, namespace) }
	}
	// An interruption is told by who asked for all of this.
	checks, _ := atOnce(ctx, looks)
	return checks
}

func (e *examination) provider(ctx context.Context, namespace string) []preflight.Check {
	name := "resource provider " + namespace
	state, err := e.s.Registration(ctx, namespace)
	if err != nil {
		return unanswered(name, err)
	}
	command := "az provider register --wait --namespace " + namespace
	switch state {
	case azure.Registered:
		return one(preflight.Verdict(name, preflight.Warn, true, state, ""))
	case azure.Registering:
		return one(preflight.Verdict(name, preflight.Warn, false, "is being registered", "wait for it: `"+command+"`"))
	}
	held, err := e.s.Permissions(ctx, "/subscriptions/"+e.s.SubscriptionID)
	if err == nil && !held.Allow(namespace+"/register/action") {
		return one(preflight.Verdict(name, preflight.Fail, false, "is "+state+", and the credentials may not register it", "have somebody who may (Contributor on the subscription) run `"+command+"`"))
	}
	return one(preflight.Verdict(name, preflight.Warn, false, "is "+state+"; the first write registers it, which takes minutes", "register it now: `"+command+"`"))
}

// rights of the credentials, scope by scope.
func (e *examination) rights(ctx context.Context) []preflight.Check {
	const name = "rights"
	if e.Output != nil {
		return one(preflight.Verdict(name, preflight.Fail, true, "none are needed: the infrastructure is there", ""))
	}
	scopes, err := infra.Rights(ctx, e.s, e.complete())
	if err != nil {
		return one(preflight.OfError("rights on "+placeOf("/subscriptions/"+e.s.SubscriptionID), preflight.Fail, err, "correct the file of --azure-creds"))
	}
	var checks []preflight.Check
	for _, scope := range scopes {
		checks = append(checks, rightsOn(scope.Scope, scope.Actions, scope.Missing, scope.Spreading, scope.Err))
	}
	self, err := e.s.OwnPrincipal(ctx)
	if err != nil {
		return append(checks, unanswered("deny assignments", err)...)
	}
	return append(checks, e.denials(ctx, self, scopes)...)
}

const writeRoles = "Microsoft.Authorization/roleAssignments/write"

func rightsOn(scope string, actions, missing []string, spreading bool, err error) preflight.Check {
	name := "rights on " + placeOf(scope)
	if err != nil {
		return unanswered(name, err)[0]
	}
	if spreading {
		return preflight.Verdict(name, preflight.Warn, false, "Azure does not show "+strings.Join(missing, ", ")+" yet: a role for it was given a short time ago", "wait up to ten minutes")
	}
	remedy := "give the service principal the role Contributor there"
	if slices.Contains(missing, writeRoles) {
		remedy += ", and User Access Administrator for the roles"
	}
	detail := fmt.Sprintf("all %d kinds of writes are allowed", len(actions))
	if len(missing) > 0 {
		detail = "no role allows, or a role's notActions take away: " + strings.Join(missing, ", ")
	}
	return preflight.Verdict(name, preflight.Fail, len(missing) == 0, detail, remedy)
}

// complete are the options with stand-ins for names that are not given yet: the kinds of writes, and the scopes that exist, do not follow from them.
func (e *examination) complete() infra.Options {
	o := e.Infra
	if o.Name == "" {
		o.Name = "preflight"
	}
	if o.InfraID == "" {
		o.InfraID = o.Name + "-preflight"
	}
	o.AssignRoles = o.AssignRoles && (o.Identities != nil || o.Managed != nil)
	return o
}
