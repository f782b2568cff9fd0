package proxy

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// leafLife is how long a minted certificate is good; the process mints new ones when half of it is over.
const leafLife = 30 * 24 * time.Hour

// Minter makes server certificates on demand and keeps them in memory.
type Minter struct {
	ca    *x509.Certificate
	chain [][]byte
	caKey crypto.Signer
	key   *ecdsa.PrivateKey

	mu    sync.Mutex
	leafs map[string]*tls.Certificate
}

// LoadMinter reads the certificate authority.
func LoadMinter(certFile, keyFile string) (*Minter, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("loading the certificate authority of the sandbox: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || pair.Leaf == nil || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s is no certificate authority", certFile)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Minter{ca: pair.Leaf, chain: pair.Certificate, caKey: signer, key: key, leafs: map[string]*tls.Certificate{}}, nil
}

// Certificate returns a certificate for the host, minting it the first time.
func (m *Minter) Certificate(host string) (*tls.Certificate, error) {
	if host == "" {
		return nil, errors.New("the client sent no server name")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.leafs[host]; c != nil && time.Until(c.Leaf.NotAfter) > leafLife/2 {
		return c, nil
	}
	c, err := m.mint(host)
	if err != nil {
		return nil, fmt.Errorf("minting a certificate for %s: %w", host, err)
	}
	m.leafs[host] = c
	return c, nil
}

func (m *Minter) mint(host string) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(host); ip != nil {
		t.DNSNames, t.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, m.ca, &m.key.PublicKey, m.caKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: append([][]byte{der}, m.chain...), PrivateKey: m.key, Leaf: leaf}, nil
}
