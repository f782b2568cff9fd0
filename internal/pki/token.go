package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// ServiceAccountToken signs a token of a service account as the API server would. It is for what has to be known before that serves.
func ServiceAccountToken(keyPEM []byte, claims jwt.Claims, now time.Time, life time.Duration) (string, error) {
	key, err := ParsePrivateKey(keyPEM)
	if err != nil {
		return "", fmt.Errorf("the service account signing key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", fmt.Errorf("the service account signing key: %w", err)
	}
	// The id by which the published keys list this one.
	sum := sha256.Sum256(public)
	id := base64.RawURLEncoding.EncodeToString(sum[:])
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
