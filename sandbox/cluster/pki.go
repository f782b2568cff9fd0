package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	certLifetime = 5 * 365 * 24 * time.Hour
	clockSkew    = time.Hour
)

// systemBundles are where distributions keep the roots they trust.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// EnsurePKI makes the sandbox's CA and the bundle, unless they are there.
func EnsurePKI(dir string) error {
	pki := filepath.Join(dir, "pki")
	if err := os.MkdirAll(pki, 0o755); err != nil {
		return err
	}
	ca, err := ensureCA(filepath.Join(pki, "ca"), "hypershift sandbox CA")
	if err != nil {
		return err
	}
	bundle := filepath.Join(pki, "bundle.pem")
	if _, err := os.Stat(bundle); err == nil {
		return nil
	}
	var roots []byte
	for _, path := range systemBundles {
		if roots, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if len(roots) > 0 && roots[len(roots)-1] != '\n' {
		roots = append(roots, '\n')
	}
	return os.WriteFile(bundle, append(roots, ca.pem...), 0o644)
}

// ensureCA loads or makes <base>.crt and <base>.key.
func ensureCA(base, name string) (authority, error) {
	ca, err := loadCA(base)
	if !errors.Is(err, fs.ErrNotExist) {
		return ca, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-clockSkew),
		NotAfter:              time.Now().Add(caLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	// The key first: a certificate without a key would be taken for complete.
	if err := writeKey(base+".key", key); err != nil {
		return authority{}, err
	}
	if err := writePEM(base+".crt", "CERTIFICATE", der, 0o644); err != nil {
		return authority{}, err
	}
	return loadCA(base)
}

func loadCA(base string) (authority, error) {
	text, err := os.ReadFile(base + ".crt")
	if err != nil {
		return authority{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return authority{}, fmt.Errorf("%s.crt holds no certificate: remove it and its key to have them made again", base)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return authority{}, fmt.Errorf("%s.crt: %w", base, err)
	}
	keyText, err := os.ReadFile(base + ".key")
	if err != nil {
		return authority{}, fmt.Errorf("the key of %s.crt: %w", base, err)
	}
	keyBlock, _ := pem.Decode(keyText)
	if keyBlock == nil {
		return authority{}, fmt.Errorf("%s.key holds no key", base)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return authority{}, fmt.Errorf("%s.key: %w", base, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return authority{}, fmt.Errorf("%s.key cannot sign", base)
	}
	return authority{cert: cert, key: signer, pem: text}, nil
}

// identity is what a certificate is made for.
type identity struct {
	name  string // CommonName
	group string // Organization
	hosts []string
}

// issue makes <base>.crt and <base>.key unless they are there and still valid.
func (a authority) issue(base string, id identity) error {
	if text, err := os.ReadFile(base + ".crt"); err == nil {
		if block, _ := pem.Decode(text); block != nil {
			cert, err := x509.ParseCertificate(block.Bytes)
			if err == nil && cert.NotAfter.After(time.Now().Add(30*24*time.Hour)) && cert.CheckSignatureFrom(a.cert) == nil {
				return nil
			}
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: id.name},
		NotBefore:    time.Now().Add(-clockSkew),
		NotAfter:     time.Now().Add(certLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if id.group != "" {
		template.Subject.Organization = []string{id.group}
	}
	for _, host := range id.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("certificate for %s: %w", id.name, err)
	}
	if err := writeKey(base+".key", key); err != nil {
		return err
	}
	return writePEM(base+".crt", "CERTIFICATE", der, 0o644)
}

// ensureServiceAccountKey makes the pair that signs service account tokens.
func ensureServiceAccountKey(base string) error {
	if _, err := os.Stat(base + ".pub"); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writeKey(base+".key", key); err != nil {
		return err
	}
	return writePEM(base+".pub", "PUBLIC KEY", public, 0o644)
}

func writeKey(path string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil { // the system has no randomness: nothing here can be safe
		panic(err)
	}
	return n
}
