package signing

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// KeySet is the set of public keys, a JSON web key set, by which the tokens of an issuer are checked.
type KeySet struct {
	keys []jose.JSONWebKey // public RSA keys with the ids that their tokens carry
}

// KeyID is the key id that kube-apiserver derives from the same key: base64url of SHA-256 over the PKIX form.
func KeyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("cannot encode the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// ParseKeySet reads a keys document and checks that every key is an RSA key that says its own id.
func ParseKeySet(raw []byte) (*KeySet, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("not a JSON web key set: %w", err)
	}
	if len(document.Keys) == 0 {
		return nil, errors.New("the JSON web key set is empty")
	}
	set := &KeySet{}
	for i, raw := range document.Keys {
		key, err := parsePublished(raw)
		if err != nil {
			return nil, fmt.Errorf("keys[%d]%w", i, err)
		}
		set.keys = append(set.keys, key)
	}
	return set, nil
}

// parsePublished reads one key; the error goes on after the key's place.
func parsePublished(raw []byte) (jose.JSONWebKey, error) {
	var key jose.JSONWebKey
	if err := key.UnmarshalJSON(raw); err != nil {
		return key, fmt.Errorf(": %w", err)
	}
	key = key.Public()
	public, ok := key.Key.(*rsa.PublicKey)
	switch {
	case !ok:
		return key, errors.New(" is not an RSA key")
	case public.N.Sign() == 0:
		return key, errors.New(".n is no number")
	case public.E <= 0 || int64(public.E) > math.MaxUint32:
		return key, errors.New(".e is not a small number")
	}
	id, err := KeyID(public)
	if err == nil && id != key.KeyID {
		err = fmt.Errorf(".kid %q is not the id that the key's tokens carry (%s)", key.KeyID, id)
	}
	return key, err
}

// IDs are the ids of the keys in the document's order.
func (s *KeySet) IDs() []string {
	ids := make([]string, 0, len(s.keys))
	for _, k := range s.keys {
		ids = append(ids, k.KeyID)
	}
	return ids
}

// Has tells whether the set publishes the key.
func (s *KeySet) Has(key *rsa.PublicKey) bool {
	return slices.ContainsFunc(s.keys, func(k jose.JSONWebKey) bool { return key.Equal(k.Key) })
}

// With is the set with a key, which is added at the end unless it is there.
func (s *KeySet) With(key *rsa.PublicKey) (*KeySet, error) {
	if s.Has(key) {
		return s, nil
	}
	id, err := KeyID(key)
	added := jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.RS256), Use: "sig"}
	return &KeySet{append(slices.Clone(s.keys), added)}, err
}

// Without is the set without a key.
func (s *KeySet) Without(key *rsa.PublicKey) *KeySet {
	return &KeySet{slices.DeleteFunc(slices.Clone(s.keys), func(k jose.JSONWebKey) bool { return key.Equal(k.Key) })}
}

// Encode gives the content of the keys document, JSON.
func (s *KeySet) Encode() ([]byte, error) {
	raw, err := json.MarshalIndent(jose.JSONWebKeySet{Keys: s.keys}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the keys: %w", err)
	}
	return raw, nil
}
