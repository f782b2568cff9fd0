package provision

import (
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// jwk is one published RSA key.
type jwk struct {
	Use string `json:"use"`
	Kty string `json:"kty"`
	Kid string `json:"kid"`
	Alg string `json:"alg"`
	N   string `json:"n"`
	E   string `json:"e"`
}

// KeySet is the content of the issuer's keys document.
type KeySet struct {
	Keys []jwk `json:"keys"`
}

// discoveryDocument is the content of the issuer's configuration document.
type discoveryDocument struct {
	Issuer        string   `json:"issuer"`
	JWKSURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

func encodeDiscovery(issuerURL string) ([]byte, error) {
	raw, err := json.MarshalIndent(discoveryDocument{Issuer: issuerURL, JWKSURI: issuerURL + "/" + keysPath,
		ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"}, Algorithms: []string{"RS256"}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the discovery document: %w", err)
	}
	return raw, nil
}

// KeyID is the key id that kube-apiserver derives from the same key: base64url of SHA-256 over the PKIX form.
func KeyID(key *rsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("cannot encode the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

func newJWK(key *rsa.PublicKey) (jwk, error) {
	id, err := KeyID(key)
	encode := base64.RawURLEncoding.EncodeToString
	return jwk{Use: "sig", Kty: "RSA", Kid: id, Alg: "RS256",
		N: encode(key.N.Bytes()), E: encode(big.NewInt(int64(key.E)).Bytes())}, err
}

// ParseKeySet reads a keys document and checks that every key is an RSA key that says its own id.
func ParseKeySet(raw []byte) (*KeySet, error) {
	var set KeySet
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("not a JSON web key set: %w", err)
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("the JSON web key set is empty")
	}
	for i, k := range set.Keys {
		key, err := k.public()
		if err != nil {
			return nil, fmt.Errorf("keys[%d]: %w", i, err)
		}
		if id, err := KeyID(key); err != nil || id != k.Kid {
			return nil, fmt.Errorf("keys[%d].kid %q is not the id that the key's tokens carry (%s)", i, k.Kid, id)
		}
	}
	return &set, nil
}

func (k jwk) public() (*rsa.PublicKey, error) {
	if k.Kty != "RSA" {
		return nil, fmt.Errorf("kty %q is not RSA", k.Kty)
	}
	n, err := base64.RawURLEncoding.DecodeString(k.N)
	if err != nil || len(n) == 0 {
		return nil, errors.New("n is not base64url")
	}
	e, err := base64.RawURLEncoding.DecodeString(k.E)
	const enough = 4 // bytes of an exponent
	if err != nil || len(e) == 0 || len(e) > enough {
		return nil, errors.New("e is not base64url of a small number")
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, nil
}

// errNoKeySet says that anyone can ask for the keys, and there are none.
var errNoKeySet = errors.New("no keys are published")

// publishedKeys reads the issuer's keys as anyone does.
func publishedKeys(ctx context.Context, s *azure.Session, issuerURL string) (*KeySet, error) {
	address := issuerURL + "/" + keysPath
	raw, status, err := s.ReadPublic(ctx, address)
	if err != nil {
		return nil, azure.Wrap("read anonymously", address, err)
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d to anyone who has not signed in: %w", address, status, errNoKeySet)
	}
	set, err := ParseKeySet(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", address, errNoKeySet, err)
	}
	return set, nil
}

// CheckSigner refuses a private key that the issuer does not publish: Azure would take no token that it signs.
func CheckSigner(ctx context.Context, s *azure.Session, issuerURL, path string, key []byte) error {
	signer, err := parseSigner(path, key)
	if err != nil {
		return err
	}
	set, err := publishedKeys(ctx, s, issuerURL)
	if errors.Is(err, errNoKeySet) {
		return fmt.Errorf("%w; Azure reads them there to check the cluster's tokens: publish the key of %s with `hypershift create oidc-issuer azure --private-key %[2]s`, or correct --oidc-issuer-url", err, path)
	}
	if err != nil || set.has(&signer.PublicKey) {
		return err
	}
	id, err := KeyID(&signer.PublicKey)
	if err != nil {
		return err
	}
	published := make([]string, 0, len(set.Keys))
	for _, k := range set.Keys {
		published = append(published, k.Kid)
	}
	return fmt.Errorf("%s holds the key %s, which %s does not publish (it publishes %s): Azure would refuse the cluster's tokens with AADSTS700027; give the issuer's own key with "+
		"--sa-token-issuer-private-key-path, and change a key with `hypershift rotate oidc-issuer azure` alone", path, id, issuerURL, strings.Join(published, ", "))
}

// has tells whether the set publishes the key.
func (s *KeySet) has(key *rsa.PublicKey) bool {
	return slices.ContainsFunc(s.Keys, func(k jwk) bool {
		published, err := k.public()
		return err == nil && published.Equal(key)
	})
}

// with adds a key unless it is there.
func (s *KeySet) with(key *rsa.PublicKey) (*KeySet, error) {
	if s.has(key) {
		return s, nil
	}
	added, err := newJWK(key)
	return &KeySet{Keys: append(slices.Clone(s.Keys), added)}, err
}

// without removes a key.
func (s *KeySet) without(key *rsa.PublicKey) (*KeySet, error) {
	gone, err := newJWK(key)
	return &KeySet{Keys: slices.DeleteFunc(slices.Clone(s.Keys), func(k jwk) bool { return k.Kid == gone.Kid })}, err
}

func (s *KeySet) encode() ([]byte, error) {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the keys: %w", err)
	}
	return raw, nil
}

// issuerDocuments are the two documents that make a key pair an OpenID issuer.
func issuerDocuments(issuerURL string, key *rsa.PublicKey) (map[string][]byte, error) {
	discovery, err := encodeDiscovery(issuerURL)
	if err != nil {
		return nil, err
	}
	set, err := (&KeySet{}).with(key)
	if err != nil {
		return nil, err
	}
	keys, err := set.encode()
	return map[string][]byte{discoveryPath: discovery, keysPath: keys}, err
}
