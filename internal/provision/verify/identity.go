package verify

import (
	"context"
	"crypto/rsa"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

func (v *verification) identityTasks() []task {
	if v.h.Identities == nil {
		return nil
	}
	var tasks []task
	for _, c := range identity.Components {
		if clientID := v.h.Identities.Clients.Get(c.Key); clientID != "" {
			tasks = append(tasks, func(ctx context.Context) []Check { return v.checkIdentity(ctx, c, clientID) })
		}
	}
	return tasks
}

// checkIdentity finds the identity by its client id, for hand-made ones have other names, then looks at each subject.
func (v *verification) checkIdentity(ctx context.Context, c identity.Component, clientID string) []Check {
	const area = "identity"
	at := slices.IndexFunc(v.identities, func(r azure.Resource) bool { return strings.EqualFold(r.Property("clientId"), clientID) })
	if at < 0 {
		return []Check{verdict(area, c.Key, "", fmt.Errorf("no managed identity of the subscription has client id %s", clientID),
			"run `hypershift create iam azure` again and use the file it writes")}
	}
	checks := []Check{verdict(area, c.Key, clientID, nil, "")}
	credentials, err := v.s.List(ctx, v.identities[at].ID+"/federatedIdentityCredentials", node.APIIdentity, "")
	if err != nil {
		return append(checks, verdict("federated credential", c.Key, "", err, ""))
	}
	if v.h.Issuer == nil {
		return append(checks, Check{Area: "federated credential", Name: c.Key, Status: Skip, Detail: "no issuer is named", Remedy: give(issuer.FieldTrustedURL)})
	}
	for _, f := range c.Credentials {
		want := identity.GuestFederation(v.h.Issuer.URL, f.Subject)
		checks = append(checks, verdict("federated credential", f.Subject, c.Key, matchCredential(credentials, want), "run `hypershift create iam azure` again with this issuer"))
		checks = append(checks, v.checkToken(ctx, f.Subject, clientID, credentials, want))
	}
	return checks
}

// matchCredential says which field of the nearest credential differs.
func matchCredential(credentials []azure.Resource, want identity.Federation) error {
	if d := want.Nearest(credentials); d != "" {
		return &failure.Error{Op: "compare", Resource: want.Subject, Cause: "no federated credential of the identity fits the cluster's tokens", Field: d, Kind: failure.Terminal,
			Remedy: "run `hypershift create iam azure` again with this issuer"}
	}
	return nil
}

// checkToken mints what the API server would, and has Entra exchange it.
func (v *verification) checkToken(ctx context.Context, name, clientID string, credentials []azure.Resource, f identity.Federation) Check {
	const area = "token"
	if v.key == nil {
		return Check{Area: area, Name: name, Status: Skip, Detail: "no private key is named", Remedy: give(issuer.FieldSigner)}
	}
	as, err := v.s.As(clientID, func(context.Context) (string, error) { return mintToken(v.key, f, time.Now()) })
	if err == nil {
		err = as.SignIn(ctx)
	}
	c := verdict(area, name, "exchanged for client "+clientID, err, "")
	// Entra says what it was shown; what it was compared with is in the credentials.
	switch d, code := f.Nearest(credentials), failure.CodeOf(err); {
	case d != "" && slices.Contains(federationCodes, code):
		c.Field = d
	case d == "":
		c.spreads = slices.Contains(federationCodes, code) || slices.Contains(youngCodes, code)
	}
	return c
}

// federationCodes are what Entra answers when no federated credential fits a token.
var federationCodes = []string{"AADSTS70021", "AADSTS70025", "AADSTS700211", "AADSTS700212", "AADSTS700213"}

// youngCodes are what Entra answers while it does not know the identity yet, or goes by keys that it read before.
var youngCodes = []string{"AADSTS700016", "AADSTS700027"}

// mintedLife is short: the token is presented at once.
const mintedLife = 10 * time.Minute

// mintToken signs a service account token as the hosted cluster's API server would.
func mintToken(key *rsa.PrivateKey, f identity.Federation, now time.Time) (string, error) {
	return signing.Token(key, jwt.Claims{Issuer: f.Issuer, Subject: f.Subject, Audience: jwt.Audience{f.Audience}}, now, mintedLife)
}
