package credentials

import (
	"context"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// Signer signs tokens of accounts of a guest.
type Signer struct {
	// Key is the private key of service account tokens, PEM; without one nobody signs in.
	Key    []byte
	Issuer string
	Now    func() time.Time
}

// assertion signs tokens of an account of the guest, which the API server need not serve for.
func (s Signer) assertion(account component.Token) Assertion {
	return func(context.Context) (string, error) {
		return pki.ServiceAccountToken(s.Key, jwt.Claims{
			Issuer: s.Issuer, Subject: "system:serviceaccount:" + account.Namespace + ":" + account.ServiceAccount,
			Audience: jwt.Audience{component.CloudAudience}}, s.Now(), assertionLife)
	}
}
