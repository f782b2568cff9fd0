// Package credential gets people client certificates of hosted clusters that soon end: made of a key that never leaves this machine, signed by
// the hosted cluster itself, and kept where nobody else reads them.
package credential

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
)

const (
	// ExecVersion is the version of what kubectl and a plugin say to each other.
	ExecVersion = "client.authentication.k8s.io/v1"
	// execInfo is where kubectl tells a plugin what it wants, and of which cluster.
	execInfo = "KUBERNETES_EXEC_INFO"
	execKind = "ExecCredential"
)

// Bounds of how long a certificate lives. The API server refuses what is shorter.
const (
	Shortest = 10 * time.Minute
	Usual    = time.Hour
	Longest  = 24 * time.Hour
)

// CheckLife refuses a life outside of the bounds.
func CheckLife(life time.Duration) error {
	if life < Shortest || life > Longest {
		return fmt.Errorf("--duration %s: a short-lived certificate lives from %s to %s", life, Shortest, Longest)
	}
	return nil
}

// Credential is a client certificate and its key, PEM.
type Credential struct {
	Certificate, Key []byte
	Ends             time.Time
}

// of reads a certificate and the key that belongs to it.
func of(certificate, key []byte) (*Credential, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("the certificate: %w", err)
	}
	return &Credential{Certificate: certificate, Key: key, Ends: leaf.NotAfter}, nil
}

// Asked is what kubectl says to a plugin; empty when a person has typed the command.
func Asked() (string, error) {
	text := os.Getenv(execInfo)
	if text == "" {
		return "", nil
	}
	info := &clientauthenticationv1.ExecCredential{}
	if err := json.Unmarshal([]byte(text), info); err != nil {
		return "", fmt.Errorf("$%s, in which kubectl passes its request, cannot be read: %w", execInfo, err)
	}
	if info.APIVersion != ExecVersion {
		return "", fmt.Errorf("kubectl asks for %s %s and is answered in %s only; fetch the kubeconfig again with `hypershift kubeconfig NAME --credential exec`", info.APIVersion, execKind, ExecVersion)
	}
	return text, nil
}

// Print writes a credential as kubectl reads it.
func (c *Credential) Print(out io.Writer) error {
	raw, err := c.encode()
	if err != nil {
		return err
	}
	_, err = out.Write(raw)
	return err
}

func (c *Credential) encode() ([]byte, error) {
	ends := metav1.NewTime(c.Ends)
	raw, err := json.MarshalIndent(&clientauthenticationv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: ExecVersion, Kind: execKind},
		Status:   &clientauthenticationv1.ExecCredentialStatus{ExpirationTimestamp: &ends, ClientCertificateData: string(c.Certificate), ClientKeyData: string(c.Key)},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the credential: %w", err)
	}
	return append(raw, '\n'), nil
}

func decode(raw []byte) (*Credential, error) {
	kept := &clientauthenticationv1.ExecCredential{}
	if err := json.Unmarshal(raw, kept); err != nil {
		return nil, err
	}
	if kept.Status == nil {
		return nil, errors.New("it has no status")
	}
	return of([]byte(kept.Status.ClientCertificateData), []byte(kept.Status.ClientKeyData))
}
