// Package signing has the key pair that signs a hosted cluster's service account tokens: its files, its id, the published set of keys, and
// tokens themselves.
package signing

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// signerBits is the size the credential operator's tool uses for the same files.
const signerBits = 4096

// The files of a key pair, as the credential operator's tool names them.
const (
	PrivateFile = "serviceaccount-signer.private"
	PublicFile  = "serviceaccount-signer.public"
)

// EnsurePair reads the pair or makes it. The private file is never readable by others; files that exist are never written.
func EnsurePair(privatePath, publicPath string) (*rsa.PrivateKey, error) {
	key, err := ReadPair(privatePath, publicPath)
	if key == nil && err == nil {
		key, err = makePrivate(privatePath)
	}
	if err == nil && !wholefile.Exists(publicPath) {
		err = WritePublic(publicPath, &key.PublicKey)
	}
	return key, err
}

// ReadPair reads the pair; nil when there is none. It writes nothing: a public file that is missing is for ensureKeyPair to make.
func ReadPair(privatePath, publicPath string) (*rsa.PrivateKey, error) {
	key, err := ReadPrivate(privatePath)
	if errors.Is(err, os.ErrNotExist) {
		if wholefile.Exists(publicPath) {
			return nil, fmt.Errorf("%s exists without %s; bring its private key, or move it away to have a new pair made", publicPath, privatePath)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := CheckPublicFile(publicPath, key); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return key, nil
}

// makePrivate makes a private key that is in its place for good: of two commands that make one at once, both go on with the first.
func makePrivate(privatePath string) (*rsa.PrivateKey, error) {
	if err := os.MkdirAll(filepath.Dir(privatePath), 0o755); err != nil { //nolint:gosec // the public key beside it is for everybody; the private one is a file of 0600
		return nil, fmt.Errorf("cannot make the folder of the signing key: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, signerBits)
	if err != nil {
		return nil, fmt.Errorf("cannot make the signing key: %w", err)
	}
	err = wholefile.Create(privatePath, privatePEM(key), 0o600)
	if errors.Is(err, os.ErrExist) {
		return ReadPrivate(privatePath)
	}
	return key, err
}

func privatePEM(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func publicPEM(key *rsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// WritePublic replaces the file of a public key, PEM.
func WritePublic(path string, key *rsa.PublicKey) error {
	raw, err := publicPEM(key)
	if err != nil {
		return err
	}
	return wholefile.Replace(path, raw, 0o644)
}

// CheckPublicFile refuses a public key that is not the private one's.
func CheckPublicFile(path string, key *rsa.PrivateKey) error {
	public, err := ReadPublic(path)
	if err != nil {
		return err
	}
	if !public.Equal(&key.PublicKey) {
		return fmt.Errorf("%s is not the public half of the private key; give the pair that belongs together", path)
	}
	return nil
}

// ReadPublic reads an RSA public key, PEM of its PKIX form.
func ReadPublic(path string) (*rsa.PublicKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the public key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block; it should be an RSA public key", path)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s is not a public key: %w", path, err)
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an RSA public key", path)
	}
	return key, nil
}

// ReadPrivate reads an RSA private key, PKCS#1 or PKCS#8.
func ReadPrivate(path string) (*rsa.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the signing key: %w", err)
	}
	return ParsePrivate(path, raw)
}

// ParsePrivate reads what ReadPrivate does from the content; errors name the path.
func ParsePrivate(path string, raw []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block; it should be an RSA private key", path)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s is not an RSA private key: %w", path, err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an RSA private key", path)
	}
	return key, nil
}
