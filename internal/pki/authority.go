// Package pki makes the certificates of a hosted control plane: a table of authorities, a table of leaf certificates, and the
// rules that decide when one is made anew. It is pure: Secrets in, changed Secrets out, with the clock injected.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	keyBits = 2048
	// backdate lets certificates be used by machines whose clock is a little behind.
	backdate = 5 * time.Minute
)

// Secrets maps a Secret's name to its data.
type Secrets map[string]map[string][]byte

// Authority is one certificate authority and where it is kept.
type Authority struct {
	Secret string
	CN, OU string
	// CertKey and KeyKey are the Secret's keys; ca.crt and ca.key unless said otherwise.
	CertKey, KeyKey string
	// OnMachines: certificates of it are on machines, which nobody can replace from here. It is trusted until it ends.
	OnMachines bool
	// Kind is the kind of payload that has a use for it; empty means every kind.
	Kind release.Kind
	// Forwarding: it is there where the control plane's metrics are forwarded.
	Forwarding bool
}

// Authorities of a control plane, as far as a component of ours uses them.
func Authorities() []Authority {
	openshift := func(cn, secret string) Authority {
		return Authority{Secret: secret, CN: cn, OU: "openshift", CertKey: contract.CAKey, KeyKey: "ca.key"}
	}
	konnectivity := openshift("konnectivity-signer", "konnectivity-signer")
	konnectivity.OU = "kubernetes"
	ignition := openshift("ignition-root-ca", contract.IgnitionCA)
	// The NodePool controller reads tls.crt of this one into the user data.
	ignition.CertKey, ignition.KeyKey = corev1.TLSCertKey, corev1.TLSPrivateKeyKey
	bootstrap := openshift("kas-bootstrap-container-signer", BootstrapSigner)
	bootstrap.Kind = release.KindOpenShift
	forwarding := func(secret string) Authority {
		return Authority{Secret: secret, CN: secret, OU: "openshift", CertKey: corev1.TLSCertKey, KeyKey: corev1.TLSPrivateKeyKey, Kind: release.KindOpenShift, Forwarding: true}
	}
	requests := openshift("kube-csr-signer", contract.CSRSigner)
	requests.OnMachines = true
	return []Authority{
		openshift(contract.RootCA, contract.RootCA),
		openshift("etcd-signer", EtcdSigner),
		openshift("etcd-metrics-signer", EtcdMetricsSigner),
		konnectivity,
		openshift("aggregator-signer", AggregatorSigner),
		openshift(contract.ControlPlaneSigner, contract.ControlPlaneSigner),
		openshift("kube-apiserver-to-kubelet-signer", KubeletClientSigner),
		openshift("admin-kubeconfig-signer", AdminSigner),
		openshift("hcco-signer", HCCOSigner),
		bootstrap,
		requests,
		ignition,
		forwarding(EndpointResolverCA),
		forwarding(contract.MetricsProxyCA),
	}
}

// Names of the authorities' Secrets.
const (
	EndpointResolverCA  = "endpoint-resolver-ca"
	EtcdSigner          = "etcd-signer"
	EtcdMetricsSigner   = "etcd-metrics-signer"
	KonnectivitySigner  = "konnectivity-signer"
	AggregatorSigner    = "kas-aggregator-client-signer"
	KubeletClientSigner = "kube-apiserver-to-kubelet-signer"
	AdminSigner         = "system-admin-signer"
	HCCOSigner          = "hcco-signer"
	BootstrapSigner     = "kas-bootstrap-container-signer"
)

// sign makes a key and a certificate for it; without a parent it is self-signed.
func sign(template, parent *x509.Certificate, parentKey crypto.Signer) (certPEM, keyPEM []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("generate key: %w", err)
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	if certPEM, err = certify(template, parent, key.Public(), parentKey); err != nil {
		return nil, nil, err
	}
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return certPEM, keyPEM, nil
}

// certify makes a certificate for a key that exists.
func certify(template, parent *x509.Certificate, public crypto.PublicKey, parentKey crypto.Signer) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, parentKey)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %q: %w", template.Subject.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

var errNoPEM = errors.New("no PEM block")

// pairs are those read last, by their text. Reading one costs 0.3 ms, because the arithmetic of an RSA key is checked, and every pass
// over a control plane reads some fifty that have not changed.
var pairs = lru.New(256)

type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// parsePair reads a certificate with its key and checks that they belong together.
func parsePair(certPEM, keyPEM []byte) (*x509.Certificate, crypto.Signer, error) {
	text := [2][sha256.Size]byte{sha256.Sum256(certPEM), sha256.Sum256(keyPEM)}
	if known, ok := pairs.Get(text); ok {
		return known.(pair).cert, known.(pair).key, nil
	}
	cert, key, err := readPair(certPEM, keyPEM)
	if err == nil {
		pairs.Add(text, pair{cert, key})
	}
	return cert, key, err
}

func readPair(certPEM, keyPEM []byte) (*x509.Certificate, crypto.Signer, error) {
	cert, err := ParseCertificate(certPEM)
	if err != nil {
		return nil, nil, err
	}
	key, err := ParsePrivateKey(keyPEM)
	if err != nil {
		return nil, nil, err
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(cert.PublicKey) {
		return nil, nil, errors.New("certificate and key do not belong together")
	}
	return cert, key, nil
}

// ParseCertificate reads the first certificate of a PEM text.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("certificate: %w", errNoPEM)
	}
	return x509.ParseCertificate(block.Bytes)
}

// ParsePrivateKey reads an RSA or ECDSA key in any of its usual PEM forms.
func ParsePrivateKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("private key: %w", errNoPEM)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("private key is neither PKCS#1, SEC 1 nor PKCS#8: %w", err)
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, fmt.Errorf("private key of type %T is not supported: use RSA or ECDSA", key)
}
