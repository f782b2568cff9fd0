package pki

import (
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
)

// ServiceAccountToken signs a token of a service account as the API server would. It is for what has to be known before that serves.
func ServiceAccountToken(keyPEM []byte, claims jwt.Claims, now time.Time, life time.Duration) (string, error) {
	key, err := ParsePrivateKey(keyPEM)
	if err != nil {
		return "", fmt.Errorf("the service account signing key: %w", err)
	}
	return signing.Token(key, claims, now, life)
}
