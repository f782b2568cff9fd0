package signing

import (
	"crypto"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Token signs the claims with an RSA key, as the API server signs a service account's token: valid from now for its life, under the id
// by which the published keys list the key.
func Token(key crypto.Signer, claims jwt.Claims, now time.Time, life time.Duration) (string, error) {
	id, err := KeyID(key.Public())
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		return "", fmt.Errorf("sign a service account token: %w", err)
	}
	claims.IssuedAt, claims.NotBefore, claims.Expiry = jwt.NewNumericDate(now), jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(life))
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign a service account token: %w", err)
	}
	return token, nil
}
