package pki

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"

	corev1 "k8s.io/api/core/v1"
)

// Leaf is one certificate of a component.
type Leaf struct {
	Secret string
	// Signer is the Secret of its authority.
	Signer string
	CN     string
	Orgs   []string
	Usages []x509.ExtKeyUsage
	// Hosts are its subject alternative names, addresses among them.
	Hosts []string
	// CertKey and KeyKey default to tls.crt and tls.key; the authority is always in ca.crt.
	CertKey, KeyKey string
	// Brief certificates are given away, to whoever reads a machine's configuration: they live a day and not a year.
	Brief bool
	// Kind is the kind of payload that has a use for it; empty means every kind.
	Kind release.Kind
	// Forwarding: it is there where the control plane's metrics are forwarded.
	Forwarding bool
}

func (l Leaf) keys() (cert, key string) {
	if l.CertKey == "" {
		return corev1.TLSCertKey, corev1.TLSPrivateKeyKey
	}
	return l.CertKey, l.KeyKey
}

// EnsureLeaves returns the leaves of have that are missing, expiring, signed by a former authority, or about something else, made anew.
func EnsureLeaves(have Secrets, leaves []Leaf, policy Policy, now time.Time) (Secrets, error) {
	return EnsureLeavesOf(have, Authorities(), leaves, policy, now)
}

// EnsureLeavesOf is EnsureLeaves with authorities other than those of a control plane.
func EnsureLeavesOf(have Secrets, signers []Authority, leaves []Leaf, policy Policy, now time.Time) (Secrets, error) {
	authorities := map[string]Authority{}
	for _, a := range signers {
		authorities[a.Secret] = a
	}
	if due(have, leaves, policy, now) {
		policy.Renewal += policy.together()
	}
	return concurrently(leaves, func(l Leaf) (string, map[string][]byte, error) {
		policy := policy.of(l)
		a := authorities[l.Signer]
		caPEM := have[a.Secret][a.CertKey]
		ca, caKey, err := parsePair(caPEM, have[a.Secret][a.KeyKey])
		if err != nil {
			return "", nil, fmt.Errorf("certificate %s: its authority in Secret %s is unusable: %w", l.Secret, l.Signer, err)
		}
		certKey, keyKey := l.keys()
		data, cross := have[l.Secret], have[a.Secret][CrossKey]
		if cert, _, err := parsePair(data[certKey], data[keyKey]); err == nil &&
			bytes.Equal(data[contract.CAKey], caPEM) && bytes.Equal(chainOf(data[certKey]), cross) && current(cert, ca, l, policy, now) {
			return "", nil, nil
		}
		cert, key, err := sign(l.template(policy, now, ca), ca, caKey)
		if err != nil {
			return "", nil, fmt.Errorf("certificate %s: %w", l.Secret, err)
		}
		return l.Secret, map[string][]byte{certKey: append(cert, cross...), keyKey: key, contract.CAKey: caPEM}, nil
	})
}

// due tells whether one of the leaves has little life left.
func due(have Secrets, leaves []Leaf, policy Policy, now time.Time) bool {
	return slices.ContainsFunc(leaves, func(l Leaf) bool {
		certKey, _ := l.keys()
		cert, err := ParseCertificate(have[l.Secret][certKey])
		return err == nil && !l.Brief && cert.NotAfter.Sub(now) <= policy.Renewal
	})
}

// chainOf is what comes with a certificate: the text after its first block.
func chainOf(text []byte) []byte {
	_, rest := pem.Decode(text)
	return rest
}

func (l Leaf) template(policy Policy, now time.Time, ca *x509.Certificate) *x509.Certificate {
	names, addresses := l.alternativeNames()
	end := now.Add(policy.LeafValidity)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: l.CN, Organization: l.Orgs},
		NotBefore: now.Add(-backdate), NotAfter: end,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           l.Usages,
		BasicConstraintsValid: true,
		DNSNames:              names, IPAddresses: addresses,
	}
}

func (l Leaf) alternativeNames() (names []string, addresses []net.IP) {
	for _, host := range l.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, host)
		}
	}
	return names, addresses
}

func current(cert, ca *x509.Certificate, l Leaf, policy Policy, now time.Time) bool {
	names, addresses := l.alternativeNames()
	text := func(ips []net.IP) []string {
		var out []string
		for _, ip := range ips {
			out = append(out, ip.String())
		}
		return out
	}
	return cert.NotAfter.Sub(now) > policy.Renewal &&
		cert.CheckSignatureFrom(ca) == nil &&
		cert.Subject.CommonName == l.CN &&
		sameSet(cert.Subject.Organization, l.Orgs) &&
		slices.Equal(cert.ExtKeyUsage, l.Usages) &&
		sameSet(cert.DNSNames, names) &&
		sameSet(text(cert.IPAddresses), text(addresses))
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// concurrently runs make for every item, as wide as there are processors: RSA keys are what a pass spends its time on.
func concurrently[T any](items []T, produce func(T) (string, map[string][]byte, error)) (Secrets, error) {
	type result struct {
		name string
		data map[string][]byte
	}
	results := make([]result, len(items))
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, item := range items {
		group.Go(func() error {
			name, data, err := produce(item)
			results[i] = result{name, data}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	changed := Secrets{}
	for _, r := range results {
		if r.name != "" {
			changed[r.name] = r.data
		}
	}
	return changed, nil
}
