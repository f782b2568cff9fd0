package stacks_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

func (w *world) makeIdentities(change func(*iam.Options)) (*cutter, error) {
	return w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		o := iamOptions
		if change != nil {
			change(&o)
		}
		_, err := iam.Create(ctx, s, o, nil)
		return err
	})
}

func (w *world) arm(suffix string) []string {
	var out []string
	for key := range w.dump() {
		if strings.HasSuffix(key, strings.ToLower(suffix)) || strings.Contains(key, strings.ToLower(suffix)+"/") {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// What one identity is refused does not hold up the others, and is named; a further run makes what is left and nothing else.
func TestARefusedIdentityHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	_, err := w.server.Faults().Add(refused("Microsoft.ManagedIdentity/userAssignedIdentities/demo-file-demo-x", 403, "RequestDisallowedByPolicy", "No file."))
	must(t, err)
	_, err = w.makeIdentities(nil)
	if failure.CodeOf(err) != "RequestDisallowedByPolicy" || !strings.Contains(err.Error(), "managed identity demo-file-demo-x") || !strings.Contains(err.Error(), "exemption") {
		t.Errorf("error %v", err)
	}
	if len(w.arm("/demo-file-demo-x")) != 0 || len(w.arm("/demo-disk-demo-x")) < 4 || len(w.arm("/demo-kms-demo-x")) < 2 {
		t.Errorf("made are %v", slices.Sorted(maps.Keys(w.dump())))
	}
	c, err := w.makeIdentities(nil)
	must(t, err)
	if len(c.writes) != 4 || slices.ContainsFunc(c.writes, func(write string) bool { return !strings.Contains(write, "/demo-file-demo-x") }) {
		t.Errorf("the further run wrote %q", c.writes)
	}
}

// A credential that somebody has changed is put right; identities keep the tags that others have given them; what the user has added stays.
func TestIdentitiesThatHaveDrifted(t *testing.T) {
	w := newWorld(t)
	_, err := w.makeIdentities(nil)
	must(t, err)
	s := w.session(w.transport)
	want := w.dump()
	id := s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-ingress-demo-x")
	for name, properties := range map[string]map[string]any{
		"demo-ingress-fed-id": {"issuer": iamOptions.IssuerURL, "subject": "system:serviceaccount:a:b", "audiences": []string{"openshift"}},
		"mine":                {"issuer": "https://token.actions.githubusercontent.com", "subject": "repo:me/mine", "audiences": []string{"api://AzureADTokenExchange"}},
	} {
		_, err := s.Put(t.Context(), id+"/federatedIdentityCredentials/"+name, "2023-01-31", azure.Resource{Properties: properties})
		must(t, err)
	}
	found, err := s.Get(t.Context(), id, "2023-01-31")
	must(t, err)
	found.Tags["mine"] = "yes"
	_, err = s.Put(t.Context(), id, "2023-01-31", azure.Resource{Location: found.Location, Tags: found.Tags})
	must(t, err)
	c, err := w.makeIdentities(nil)
	must(t, err)
	if len(c.writes) != 1 || !strings.HasSuffix(c.writes[0], "/demo-ingress-fed-id") {
		t.Errorf("written %q", c.writes)
	}
	d := differences(want, w.dump())
	if strings.Contains(d, "demo-ingress-fed-id") || strings.Contains(d, "missing") || !strings.Contains(d, "/mine") || !strings.Contains(d, `"mine":"yes"`) {
		t.Errorf("after the further run:\n%s", d)
	}
}

// Who lacks a right is told which and where before anything is made, and so is who wants a plan.
func TestWithoutRightsNothingIsMade(t *testing.T) {
	const reader, contributor = "acdd72a7-3385-48ef-bd42-f606fba81ae7", "b24988ac-6180-42a0-ab88-20f7382dd24c"
	withRoles := plainInfra
	withRoles.AssignRoles = true
	key := signer(t)
	for _, tc := range []struct {
		name, role string
		run        func(context.Context, *azure.Session) error
		says       []string
	}{
		{"identities by a reader", reader, func(ctx context.Context, s *azure.Session) error {
			_, err := iam.Create(ctx, s, iamOptions, nil)
			return err
		}, []string{"Microsoft.ManagedIdentity/userAssignedIdentities/write in os4-common", "federatedIdentityCredentials/write", "role Contributor"}},
		{"a plan of identities by a reader", reader, func(ctx context.Context, s *azure.Session) error {
			_, err := iam.Plan(ctx, s, iamOptions)
			return err
		}, []string{"userAssignedIdentities/write"}},
		{"infrastructure by a reader", reader, func(ctx context.Context, s *azure.Session) error {
			_, err := infra.Create(ctx, s, plainInfra, nil)
			return err
		}, []string{"Microsoft.Network/virtualNetworks/write", "resourceGroups/write"}},
		{"roles by a contributor", contributor, func(ctx context.Context, s *azure.Session) error {
			_, err := infra.Create(ctx, s, withRoles, nil)
			return err
		}, []string{"Microsoft.Authorization/roleAssignments/write", "User Access Administrator", "create iam azure --assign-identity-roles"}},
		{"an issuer by a reader", reader, func(ctx context.Context, s *azure.Session) error {
			_, err := issuer.Create(ctx, s, issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: key}, nil)
			return err
		}, []string{"Microsoft.Storage/storageAccounts/write", "roleAssignments/write"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			clients, err := iam.Create(t.Context(), w.session(w.transport), iam.Options{Name: "other", InfraID: "other-x", ResourceGroup: common, Location: location, IssuerURL: "https://i.example.com"}, nil)
			must(t, err)
			withRoles.Identities = clients
			s, err := w.givenRole(tc.role)
			must(t, err)
			before := w.dump()
			err = tc.run(t.Context(), s)
			if failure.CodeOf(err) != denied || !strings.Contains(err.Error(), "nothing was made") {
				t.Fatalf("error %v", err)
			}
			for _, word := range tc.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not said: %v", word, err)
				}
			}
			if d := differences(before, w.dump()); d != "" {
				t.Errorf("made:\n%s", d)
			}
		})
	}
}

// A lock on one group keeps that group, which is told; the rest goes, and after the lock a further destroy takes what is left.
func TestADestroyGoesOnAroundALock(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	s := w.session(w.transport)
	_, err := infra.Create(t.Context(), s, plainInfra, nil)
	must(t, err)
	lock := w.group("demo-demo-x") + "/providers/Microsoft.Authorization/locks/keep"
	_, err = s.Put(t.Context(), lock, "2016-09-01", azure.Resource{Properties: map[string]any{"level": "CanNotDelete"}})
	must(t, err)
	var deleted []string
	o := infra.DestroyOptions{Name: cluster, InfraID: infraID}
	plan, err := infra.PlanDestroy(t.Context(), s, o)
	must(t, err)
	err = infra.Destroy(t.Context(), s, o, func(e stack.Event) {
		if e.Phase == stack.Deleted {
			deleted = append(deleted, e.Node.Name)
		}
	})
	if failure.CodeOf(err) != "ScopeLocked" || !strings.Contains(err.Error(), "demo-demo-x") || !strings.Contains(err.Error(), "az lock delete") {
		t.Errorf("error %v", err)
	}
	if nsg, vnet, balancer, _ := w.ownNetwork(); len(w.arm(balancer)) == 0 {
		t.Errorf("the locked group is emptied; deleted %q, left %v %v", deleted, w.arm(nsg), w.arm(vnet))
	}
	must(t, s.Delete(t.Context(), lock, "2016-09-01"))
	must(t, infra.Destroy(t.Context(), s, o, nil))
	if d := differences(before, w.dump()); d != "" || len(plan) != 3 {
		t.Errorf("after the further destroy, of a plan with %d steps:\n%s", len(plan), d)
	}
}

// Infrastructure whose parts the user brings is refused before any write where a part is not there, not of its kind, or not where it is looked for.
func TestWhatIsBroughtIsFoundFirst(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	theirs := w.group("theirs") + "/providers/Microsoft.Network/"
	for name, tc := range map[string]struct {
		change func(*infra.Options)
		field  field.Field // "" is Azure's own word
		says   string
	}{
		"a network that is not there": {func(o *infra.Options) {
			o.VNetID, o.SubnetID = theirs+"virtualNetworks/gone", theirs+"virtualNetworks/gone/subnets/s"
		}, "", "virtualNetworks/gone"},
		"a subnet that is not there": {func(o *infra.Options) {
			o.VNetID, o.SubnetID = theirs+"virtualNetworks/vnet", theirs+"virtualNetworks/vnet/subnets/gone"
		}, "", "subnets/gone"},
		"a subnet of another network": {func(o *infra.Options) {
			o.VNetID, o.SubnetID = theirs+"virtualNetworks/vnet", theirs+"virtualNetworks/vnet2/subnets/s"
		}, infra.FieldSubnetID, "is not a subnet"},
		"a security group that is gone": {func(o *infra.Options) { o.NSGID = theirs + "networkSecurityGroups/gone" }, "", "networkSecurityGroups/gone"},
		"a group that is not there":     {func(o *infra.Options) { o.ResourceGroup = "gone" }, "", "gone"},
		"a zone of another domain":      {func(o *infra.Options) { o.PrivateZoneID = theirs + "privateDnsZones/other.example.com" }, infra.FieldPrivateZoneID, "demo." + domain},
		"a balancer without its group":  {func(o *infra.Options) { o.LoadBalancerID = theirs + "loadBalancers/demo-x" }, infra.FieldLoadBalancerID, infra.FieldResourceGroup.String()},
		"a balancer of another name": {func(o *infra.Options) { o.ResourceGroup, o.LoadBalancerID = "theirs", theirs+"loadBalancers/mine" },
			infra.FieldLoadBalancerID, "named mine"},
		"an address beside a balancer": {func(o *infra.Options) {
			o.ResourceGroup, o.LoadBalancerID, o.PublicIPID = "theirs", theirs+"loadBalancers/demo-x", theirs+"publicIPAddresses/demo-xy"
		}, infra.FieldPublicIPID, "has its own"},
		"an apps zone of neither kind": {func(o *infra.Options) { o.AppsZone = "both" }, infra.FieldAppsZone, "both"},
		"a tag too long":               {func(o *infra.Options) { o.Tags = map[string]string{"a": strings.Repeat("b", 257)} }, infra.FieldTags, "256"},
		"too many tags": {func(o *infra.Options) {
			o.Tags = map[string]string{}
			for i := range 50 {
				o.Tags[strings.Repeat("a", i+1)] = "b"
			}
		}, infra.FieldTags, "50"},
	} {
		o := plainInfra
		tc.change(&o)
		c, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
			_, err := infra.Create(ctx, s, o, nil)
			return err
		})
		if err == nil || len(c.writes) != 0 || !strings.Contains(err.Error(), tc.says) || tc.field != "" && !refusedFor(err, tc.field) {
			t.Errorf("%s: written %q, error %v", name, c.writes, err)
		}
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the refusals:\n%s", d)
	}
}

// Azure's lists may be cut into pages and its ids spelled otherwise; a run that is throttled all the way ends as every other.
func TestInfrastructureOnABadDay(t *testing.T) {
	for name, rule := range map[string]fault.Rule{
		"throttled":  {Preset: "throttled", Plane: fault.ARM, Chance: 0.2, Seed: 3, RetryAfter: fault.Duration(retryAfter)},
		"conflicts":  {Preset: "conflict", Chance: 0.2, Seed: 3},
		"lost reply": {Preset: "lost-reply", Chance: 0.2, Seed: 3},
		"down":       {Preset: "server-error", Plane: fault.ARM, Chance: 0.1, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.dump()
			s := w.session(w.transport)
			_, err := infra.Create(t.Context(), s, plainInfra, nil)
			must(t, err)
			whole := w.dump()
			must(t, infra.Destroy(t.Context(), s, infra.DestroyOptions{Name: cluster, InfraID: infraID}, nil))
			_, err = w.server.Faults().Add(rule)
			must(t, err)
			_, err = infra.Create(t.Context(), s, plainInfra, nil)
			must(t, err)
			if d := differences(whole, w.dump()); d != "" {
				t.Errorf("made otherwise:\n%s", d)
			}
			must(t, infra.Destroy(t.Context(), s, infra.DestroyOptions{Name: cluster, InfraID: infraID}, nil))
			if d := differences(before, w.dump()); d != "" {
				t.Errorf("left:\n%s", d)
			}
		})
	}
}
