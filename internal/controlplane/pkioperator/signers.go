package pkioperator

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"

	corev1 "k8s.io/api/core/v1"
)

// class is who gets access for emergencies: the customer, or whoever operates the hosted cluster.
type class string

const (
	customer class = "customer"
	sre      class = "sre"
)

var classes = []class{customer, sre}

const (
	// longestLife and shortestLife bound how long a certificate for emergency access is valid.
	longestLife  = 36 * time.Hour
	shortestLife = 10 * time.Minute

	certKey = corev1.TLSCertKey
	keyKey  = corev1.TLSPrivateKeyKey
)

// signerClass is how requests for revocation name the class.
func (c class) signerClass() string { return string(c) + "-break-glass" }

// signerName is how certificate signing requests name it.
func (c class) signerName(namespace string) string {
	return contract.SignerPrefix + namespace + "." + c.signerClass()
}

// names are how the common names of its certificates begin.
func (c class) names() []string {
	return []string{"system:" + c.signerClass() + ":", "system:" + string(c) + ":"}
}

func (c class) authority() pki.Authority {
	secret := string(c) + "-system-admin-signer"
	return pki.Authority{Secret: secret, CN: secret, OU: "openshift", CertKey: certKey, KeyKey: keyKey}
}

// bundle is the ConfigMap with what is trusted of the class.
func (c class) bundle() string { return c.authority().Secret + "-ca" }

// client is the certificate of an administrator that is always there. Its name is made once, at random.
func (c class) client(have pki.Secrets) (pki.Leaf, error) {
	l := pki.Leaf{Secret: string(c) + "-system-admin-client-cert-key", Signer: c.authority().Secret, Orgs: []string{"system:masters"}, Usages: pki.ClientUsages()}
	if cert, err := pki.ParseCertificate(have[l.Secret][certKey]); err == nil {
		l.CN = cert.Subject.CommonName
		return l, nil
	}
	random := make([]byte, 10)
	if _, err := rand.Read(random); err != nil {
		return l, fmt.Errorf("choose a name: %w", err)
	}
	l.CN = c.names()[0] + strings.ToLower(base32.StdEncoding.EncodeToString(random))
	return l, nil
}

// lives are how long authorities and certificates live where a day of certificates lasts so long.
func lives(day time.Duration) (authorities, leaves pki.Policy) {
	hours := func(n int) time.Duration { return day * time.Duration(n) / 24 }
	// An authority makes room when it has two days left: what it signs lives one and a half.
	authorities = pki.Policy{AuthorityValidity: 7 * day, LeafValidity: hours(36), Renewal: hours(12)}
	leaves = pki.Policy{AuthorityValidity: 7 * day, LeafValidity: hours(36), Renewal: hours(6)}
	return authorities, leaves
}

// classOfSigner finds the class of a signer's name in a control-plane namespace.
func classOfSigner(namespace, signer string) (class, bool) {
	for _, c := range classes {
		if c.signerName(namespace) == signer {
			return c, true
		}
	}
	return "", false
}

// classOfRevocation finds the class that a request for revocation names.
func classOfRevocation(name string) (class, bool) {
	for _, c := range classes {
		if c.signerClass() == name {
			return c, true
		}
	}
	return "", false
}
