package twin

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"syscall"
	"time"

	osinv1 "github.com/openshift/api/osin/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

const (
	serverUse = x509.ExtKeyUsageServerAuth
	clientUse = x509.ExtKeyUsageClientAuth
)

// readers judge files by what they are.
var readers = map[string]func(raw []byte) error{
	"file":       func([]byte) error { return nil },
	"kubeconfig": kubeconfigIn,
	"authority": func(raw []byte) error {
		return certificatesIn(raw, func(c *x509.Certificate) error { return valid(c) })
	},
	"certificate":       func(raw []byte) error { return leafIn(raw, serverUse) },
	"clientCertificate": func(raw []byte) error { return leafIn(raw, clientUse) },
	"key":               keyIn,
	"policy":            policyIn,
	"sessions":          func(raw []byte) error { return yaml.UnmarshalStrict(raw, &osinv1.SessionSecrets{}) },
}

// file sees that a file is there and what it is said to be.
func (c *checking) file(named, is, name string) {
	switch is {
	case "", "provider":
		return
	case "later":
		c.later(named, name)
		return
	case "pair":
		c.pair(name, keyBeside(name), serverUse)
		return
	case "client":
		c.pair(name, keyBeside(name), clientUse)
		return
	}
	judge, known := readers[is]
	if !known {
		c.complain("table of programs: nobody knows what %q is", is)
		return
	}
	raw, err := c.start.Read(name)
	if errors.Is(err, ErrLater) {
		return
	}
	if err == nil && len(raw) == 0 {
		err = errors.New("is empty")
	}
	if err == nil {
		err = judge(raw)
	}
	if err != nil {
		c.complain("file %s (%s), as %s: %w", name, named, is, err)
	}
}

// later sees that a file is there by now, or is on a volume that something is written to.
func (c *checking) later(named, name string) {
	_, err := c.start.Read(name)
	if errors.Is(err, ErrLater) || err == nil && !c.start.Strict || errors.Is(err, syscall.EISDIR) {
		return
	}
	c.complain("file %s (%s) is not where something is written at run time: %v", name, named, err)
}

func keyBeside(certificate string) string {
	return certificate[:len(certificate)-len(path.Ext(certificate))] + ".key"
}

// pair sees that a certificate has its key, and may be used for what it is.
func (c *checking) pair(certificate, key string, use x509.ExtKeyUsage) {
	cert, err := c.start.Read(certificate)
	if errors.Is(err, ErrLater) {
		return
	}
	own, keyErr := c.start.Read(key)
	if err = errors.Join(err, keyErr); err == nil {
		if _, err = tls.X509KeyPair(cert, own); err == nil {
			err = leafIn(cert, use)
		}
	}
	if err != nil {
		c.complain("certificate %s with key %s: %w", certificate, key, err)
	}
}

func certificatesIn(raw []byte, judge func(*x509.Certificate) error) error {
	found := false
	for {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("has a block of %s", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil {
			err = judge(cert)
		}
		if err != nil {
			return err
		}
		found = true
	}
	if !found || len(bytes.TrimSpace(raw)) > 0 {
		return errors.New("is no list of certificates in PEM")
	}
	return nil
}

func valid(cert *x509.Certificate) error {
	if now := time.Now(); now.After(cert.NotAfter) || now.Add(time.Minute).Before(cert.NotBefore) {
		return fmt.Errorf("certificate of %s is valid from %s to %s", cert.Subject, cert.NotBefore, cert.NotAfter)
	}
	return nil
}

// leafIn judges the first certificate, which is the program's own.
func leafIn(raw []byte, use x509.ExtKeyUsage) error {
	block, _ := pem.Decode(raw)
	if block == nil {
		return errors.New("is no certificate in PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	if !slices.Contains(cert.ExtKeyUsage, use) {
		return fmt.Errorf("certificate of %s is not for the use %d", cert.Subject, use)
	}
	if use == serverUse && len(cert.DNSNames)+len(cert.IPAddresses) == 0 {
		return fmt.Errorf("certificate of %s is for no name", cert.Subject)
	}
	return valid(cert)
}

func keyIn(raw []byte) error {
	block, _ := pem.Decode(raw)
	if block == nil {
		return errors.New("is no key in PEM")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if _, signs := key.(crypto.Signer); !signs {
			return errors.New("is no key that signs")
		}
		return nil
	}
	_, rsa := x509.ParsePKCS1PrivateKey(block.Bytes)
	_, ec := x509.ParseECPrivateKey(block.Bytes)
	if rsa != nil && ec != nil {
		return errors.Join(rsa, ec)
	}
	return nil
}

func kubeconfigIn(raw []byte) error {
	config, err := clientcmd.Load(raw)
	if err != nil {
		return err
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil {
		return fmt.Errorf("context %q is not there", config.CurrentContext)
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return fmt.Errorf("context %q names what is not there", config.CurrentContext)
	}
	server, err := url.Parse(cluster.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return fmt.Errorf("server %q is no https address", cluster.Server)
	}
	if len(cluster.CertificateAuthorityData) > 0 {
		if err := certificatesIn(cluster.CertificateAuthorityData, valid); err != nil {
			return fmt.Errorf("authority: %w", err)
		}
	}
	return userIn(user)
}

func userIn(user *clientcmdapi.AuthInfo) error {
	if len(user.ClientCertificateData) == 0 {
		if user.Token == "" && user.TokenFile == "" && user.ClientCertificate == "" {
			return errors.New("its user has neither a certificate nor a token")
		}
		return nil
	}
	if _, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData); err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	return leafIn(user.ClientCertificateData, clientUse)
}

// policyIn judges an audit policy.
func policyIn(raw []byte) error {
	var policy struct {
		APIVersion        string           `json:"apiVersion"`
		Kind              string           `json:"kind"`
		Metadata          map[string]any   `json:"metadata"`
		OmitStages        []string         `json:"omitStages"`
		OmitManagedFields bool             `json:"omitManagedFields"`
		Rules             []map[string]any `json:"rules"`
	}
	if err := yaml.UnmarshalStrict(raw, &policy); err != nil {
		return err
	}
	if policy.APIVersion != "audit.k8s.io/v1" || policy.Kind != "Policy" || len(policy.Rules) == 0 {
		return fmt.Errorf("is %s %s with %d rules, want audit.k8s.io/v1 Policy", policy.APIVersion, policy.Kind, len(policy.Rules))
	}
	return nil
}
