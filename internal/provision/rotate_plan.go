package provision

import (
	"context"
	"fmt"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// PlanRotateIssuer says what is left to do of a change of keys; it writes nothing, not even a key.
func PlanRotateIssuer(ctx context.Context, s *azure.Session, o RotateOptions) ([]stack.Step, error) {
	r, err := newRotation(s, o)
	if err != nil {
		return nil, err
	}
	set, err := r.publishedKeys(ctx)
	if err != nil {
		return nil, err
	}
	current, err := signing.ReadPrivate(r.issuer.PrivateKeyPath)
	if err != nil {
		return nil, needsPresentKey(err)
	}
	if !set.Has(&current.PublicKey) {
		return nil, fmt.Errorf("%s does not publish the key of %s; it is not this issuer's key", r.issuer.URL, r.issuer.PrivateKeyPath)
	}
	var steps []stack.Step
	if !r.published() {
		action := "create"
		if wholefile.Exists(r.nextPrivate) {
			action = "keep"
		}
		steps = append(steps, stack.Step{Kind: "signing key", Name: r.nextPrivate, Action: action},
			stack.Step{Kind: "issuer document", Name: issuer.KeysPath + " with both keys", Action: "update"})
	}
	if !wholefile.Exists(r.at) {
		if r.KeyWait > 0 {
			steps = append(steps, stack.Step{Kind: "token of the new key", Name: "for up to " + r.KeyWait.String(), Action: "try"})
		}
		steps = append(steps, stack.Step{Kind: "signing key Secret", Name: "of hosted cluster " + o.Issuer.Name, Action: "update"})
	}
	return append(steps, stack.Step{Kind: "tokens of the old key", Name: "for " + o.TokenLifetime.String(), Action: "wait"},
		stack.Step{Kind: "issuer document", Name: issuer.KeysPath + " with the new key only", Action: "update"}), nil
}
