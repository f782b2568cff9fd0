package provision

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// mintedLife is short: the token is presented at once.
const mintedLife = 10 * time.Minute

// mintToken signs a service account token as the hosted cluster's API server would.
func mintToken(key *rsa.PrivateKey, f federation, now time.Time) (string, error) {
	id, err := KeyID(&key.PublicKey)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		return "", fmt.Errorf("cannot sign with the issuer's key: %w", err)
	}
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: f.issuer, Subject: f.subject, Audience: jwt.Audience{f.audience},
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(mintedLife)),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("cannot sign with the issuer's key: %w", err)
	}
	return token, nil
}

func parseDiscovery(raw []byte) (discoveryDocument, error) {
	var d discoveryDocument
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("the discovery document is not JSON: %w", err)
	}
	return d, nil
}
