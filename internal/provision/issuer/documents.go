package issuer

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
)

// Discovery is the content of the issuer's configuration document.
type Discovery struct {
	Issuer        string   `json:"issuer"`
	JWKSURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

func encodeDiscovery(issuerURL string) ([]byte, error) {
	raw, err := json.MarshalIndent(Discovery{Issuer: issuerURL, JWKSURI: issuerURL + "/" + KeysPath,
		ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"}, Algorithms: []string{"RS256"}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the discovery document: %w", err)
	}
	return raw, nil
}

// ErrNoKeySet says that anyone can ask for the keys, and there are none.
var ErrNoKeySet = errors.New("no keys are published")

// PublishedKeys reads the issuer's keys as anyone does.
func PublishedKeys(ctx context.Context, s *azure.Session, issuerURL string) (*signing.KeySet, error) {
	address := issuerURL + "/" + KeysPath
	raw, status, err := s.ReadPublic(ctx, address)
	if err != nil {
		return nil, failure.Wrap("read anonymously", address, err)
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d to anyone who has not signed in: %w", address, status, ErrNoKeySet)
	}
	set, err := signing.ParseKeySet(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", address, ErrNoKeySet, err)
	}
	return set, nil
}

// CheckSigner refuses a private key that the issuer does not publish: Azure would take no token that it signs.
func CheckSigner(ctx context.Context, s *azure.Session, issuerURL, path string, key []byte) error {
	signer, err := signing.ParsePrivate(path, key)
	if err != nil {
		return err
	}
	set, err := PublishedKeys(ctx, s, issuerURL)
	if errors.Is(err, ErrNoKeySet) {
		return field.Errorf(FieldTrustedURL, "%w; Azure reads them there to check the cluster's tokens: publish the key of %s with `hypershift create oidc-issuer azure %s %s`, or correct %s",
			err, path, FieldPrivateKey, path, FieldTrustedURL)
	}
	if err != nil || set.Has(&signer.PublicKey) {
		return err
	}
	id, err := signing.KeyID(&signer.PublicKey)
	if err != nil {
		return err
	}
	return field.Errorf(FieldSigner, "%s holds the key %s, which %s does not publish (it publishes %s): Azure would refuse the cluster's tokens with AADSTS700027; give the issuer's own key with "+
		"%s, and change a key with `hypershift rotate oidc-issuer azure` alone", path, id, issuerURL, strings.Join(set.IDs(), ", "), FieldSigner)
}

// documents are the two documents that make a key pair an OpenID issuer.
func documents(issuerURL string, key *rsa.PublicKey) (map[string][]byte, error) {
	discovery, err := encodeDiscovery(issuerURL)
	if err != nil {
		return nil, err
	}
	set, err := (&signing.KeySet{}).With(key)
	if err != nil {
		return nil, err
	}
	keys, err := set.Encode()
	return map[string][]byte{DiscoveryPath: discovery, KeysPath: keys}, err
}

// ParseDiscovery reads the issuer's configuration document.
func ParseDiscovery(raw []byte) (Discovery, error) {
	var d Discovery
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("the discovery document is not JSON: %w", err)
	}
	return d, nil
}
