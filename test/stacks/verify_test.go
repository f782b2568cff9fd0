package stacks_test

import (
	"context"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/verify"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// A credential that is on record as it should be is waited for; one that differs is told at once, whatever else is new.
func TestVerifyWaitsForWhatSpreads(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	of := issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}
	made, err := issuer.Create(t.Context(), s, of, nil)
	must(t, err)
	o := iamOptions
	o.IssuerURL = made.URL
	clients, err := iam.Create(t.Context(), s, o, nil)
	must(t, err)
	h := &handoff.File{Issuer: &handoff.Issuer{URL: made.URL, PrivateKeyPath: made.PrivateKeyPath}, Identities: &handoff.Identities{Clients: clients}}
	for _, tc := range []struct {
		name    string
		refused int    // tokens
		subject string // of one credential, in place of the right one
		waits   int
		failed  int
	}{
		{name: "known"},
		{name: "new", refused: 3, waits: 1},
		{name: "new for good", refused: 1000, waits: 6, failed: 13},
		{name: "new, and one that differs", refused: 1000, subject: "system:serviceaccount:a:b", failed: 14}, // the tokens and the credential
	} {
		t.Run(tc.name, func(t *testing.T) {
			must(t, w.server.Faults().Clear())
			if tc.refused > 0 {
				_, err := w.server.Faults().Add(fault.Rule{Plane: fault.Entra, Method: "POST", Path: "**", Status: 400, Code: "70021", Count: tc.refused,
					Message: "No matching federated identity record found for presented assertion."})
				must(t, err)
			}
			if tc.subject != "" {
				id := s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-ingress-demo-x")
				n := identity.FederatedNode(s, id+"/federatedIdentityCredentials/demo-ingress-fed-id", identity.Federation{Issuer: made.URL, Subject: tc.subject, Audience: "openshift"}, "f", "i")
				must(t, n.Apply(t.Context()))
			}
			at, waits := time.Now(), 0
			checks, err := verify.Run(t.Context(), s, h, verify.Options{Wait: time.Minute, Now: func() time.Time { return at },
				Sleep: func(_ context.Context, d time.Duration) error { at, waits = at.Add(d), waits+1; return nil }})
			must(t, err)
			if got := verify.Failed(checks); got != tc.failed || waits != tc.waits {
				t.Errorf("%d checks fail after %d waits, want %d after %d", got, waits, tc.failed, tc.waits)
			}
		})
	}
}
