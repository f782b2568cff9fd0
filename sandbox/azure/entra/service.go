// Package entra is the identity platform of the embedded Azure: discovery, the token endpoint and the check of access tokens.
package entra

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// Fetch reads a document of a foreign issuer.
type Fetch func(ctx context.Context, url string) ([]byte, error)

// Service issues and checks tokens.
type Service struct {
	store  *store.Store
	tenant string
	now    func() time.Time
	fetch  Fetch
	pace   pace.Profile

	mu      sync.Mutex
	refused map[refusal]time.Time // until when a refusal is remembered
	issuers map[string]issuerKeys // what was read of issuers

	keys func() (signing, error)
}

// Close waits until nothing is written to the folder any more.
func (s *Service) Close() { _, _ = s.keys() }

// signing is the key pair of the tenant.
type signing struct {
	jwk    jose.JSONWebKey
	signer jose.Signer
}

// New loads the signing key of the folder. The first time it makes one in the background, because that can take half a second; requests that
// need it wait. Now is the time by which tokens are issued and judged.
func New(dir, tenant string, s *store.Store, now func() time.Time, fetch Fetch, profile pace.Profile) (*Service, error) {
	path := filepath.Join(dir, "entra.key")
	keys := sync.OnceValues(func() (signing, error) {
		k, err := loadSigning(path)
		if err != nil {
			return k, fmt.Errorf("the signing key of the token service: %w", err)
		}
		return k, nil
	})
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		go func() { _, _ = keys() }()
	} else if _, err := keys(); err != nil {
		return nil, err
	}
	return &Service{store: s, tenant: tenant, now: now, fetch: fetch, pace: profile, refused: map[refusal]time.Time{}, issuers: map[string]issuerKeys{}, keys: keys}, nil
}

func loadSigning(path string) (signing, error) {
	key, err := loadKey(path)
	if err != nil {
		return signing{}, err
	}
	sum := sha256.Sum256(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	jwk := jose.JSONWebKey{Key: key, KeyID: base64.RawURLEncoding.EncodeToString(sum[:20]), Algorithm: "RS256", Use: "sig"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jwk}, (&jose.SignerOptions{}).WithType("JWT"))
	return signing{jwk, signer}, err
}

func loadKey(path string) (*rsa.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block; remove it to have a new key made", path)
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to have a new key made", path, err)
	}
	return key, nil
}

func makeKey(path string) (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return nil, err
	}
	return key, os.Rename(path+".tmp", path)
}

// HashSecret is how client secrets are stored.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
