// Package pki makes the sandbox's authorities and certificates.
package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
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
	"slices"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	certLifetime = 5 * 365 * 24 * time.Hour
	renewBefore  = 30 * 24 * time.Hour
	clockSkew    = time.Hour
)

// systemBundles are where distributions keep the roots they trust.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// CA is the file of the certificate that everything in the sandbox trusts.
func CA(dir string) string { return filepath.Join(dir, "pki", "ca.crt") }

// Load loads the authority of that certificate.
func Load(dir string) (Authority, error) { return LoadCA(filepath.Join(dir, "pki", "ca")) }

// Ensure makes the sandbox's CA and the bundle, unless they are there and belong together.
func Ensure(dir string) error {
	pki := filepath.Join(dir, "pki")
	if err := os.MkdirAll(pki, 0o755); err != nil {
		return err
	}
	ca, err := EnsureCA(filepath.Join(pki, "ca"), "hypershift sandbox CA")
	if err != nil {
		return err
	}
	bundle := filepath.Join(pki, "bundle.pem")
	if present, err := os.ReadFile(bundle); err == nil && bytes.HasSuffix(present, ca.pem) {
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

// EnsureCA loads or makes <base>.crt and <base>.key.
func EnsureCA(base, name string) (Authority, error) {
	ca, err := LoadCA(base)
	if !errors.Is(err, fs.ErrNotExist) {
		return ca, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Authority{}, err
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
		return Authority{}, err
	}
	// The key first: a certificate without a key would be taken for complete.
	if err := writeKey(base+".key", key); err != nil {
		return Authority{}, err
	}
	if err := writePEM(base+".crt", "CERTIFICATE", der, 0o644); err != nil {
		return Authority{}, err
	}
	return LoadCA(base)
}

// LoadCA loads <base>.crt and <base>.key.
func LoadCA(base string) (Authority, error) {
	text, err := os.ReadFile(base + ".crt")
	if err != nil {
		return Authority{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return Authority{}, fmt.Errorf("%s.crt holds no certificate: remove it and its key to have them made again", base)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Authority{}, fmt.Errorf("%s.crt: %w", base, err)
	}
	keyText, err := os.ReadFile(base + ".key")
	if err != nil {
		return Authority{}, fmt.Errorf("the key of %s.crt: %w", base, err)
	}
	keyBlock, _ := pem.Decode(keyText)
	if keyBlock == nil {
		return Authority{}, fmt.Errorf("%s.key holds no key", base)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return Authority{}, fmt.Errorf("%s.key: %w", base, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return Authority{}, fmt.Errorf("%s.key cannot sign", base)
	}
	return Authority{cert: cert, key: signer, pem: text}, nil
}

// Identity is what a certificate is made for.
type Identity struct {
	Name  string // CommonName
	Group string // Organization
	Hosts []string
}

// template is what the certificate says of its owner.
func (id Identity) template() *x509.Certificate {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: id.Name}}
	if id.Group != "" {
		template.Subject.Organization = []string{id.Group}
	}
	for _, host := range id.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template
}

// issued tells whether <base>.crt and <base>.key are there, belong together and would be made the same now, and stay valid for a while.
func (a Authority) issued(base string, id Identity) bool {
	pair, err := tls.LoadX509KeyPair(base+".crt", base+".key")
	if err != nil {
		return false
	}
	cert, want := pair.Leaf, id.template()
	return cert.NotAfter.After(time.Now().Add(renewBefore)) && cert.CheckSignatureFrom(a.cert) == nil && cert.Subject.CommonName == id.Name &&
		slices.Equal(cert.Subject.Organization, want.Subject.Organization) && slices.Equal(cert.DNSNames, want.DNSNames) &&
		slices.EqualFunc(cert.IPAddresses, want.IPAddresses, net.IP.Equal)
}

// Issue makes <base>.crt and <base>.key unless they are there and still right.
func (a Authority) Issue(base string, id Identity) error {
	if a.issued(base, id) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := id.template()
	template.SerialNumber = serial()
	template.NotBefore, template.NotAfter = time.Now().Add(-clockSkew), time.Now().Add(certLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("certificate for %s: %w", id.Name, err)
	}
	if err := writeKey(base+".key", key); err != nil {
		return err
	}
	return writePEM(base+".crt", "CERTIFICATE", der, 0o644)
}

// EnsureServiceAccountKey makes the pair that signs service account tokens.
func EnsureServiceAccountKey(base string) error {
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
