package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Keys of an authority's Secret that exist once it has had a predecessor.
const (
	// FormerKey holds the predecessors that are still trusted, PEM, the youngest first. Without it they are trusted no more.
	FormerKey = "previous.crt"
	// CrossKey holds the authority's own key signed by its predecessor, and that one's by its own: certificates carry it along, so
	// that whoever trusts only a predecessor accepts them. No one has to know a new authority before it signs.
	CrossKey = "cross.crt"
)

// EnsureAuthorities returns those of the authorities that are missing in have, about to expire or to be replaced, made anew, and
// those that have a predecessor too much, without it.
func EnsureAuthorities(have Secrets, authorities []Authority, policy Policy, now time.Time) (Secrets, error) {
	return concurrently(authorities, func(a Authority) (string, map[string][]byte, error) {
		data, err := a.ensure(have, policy, now)
		if err != nil {
			return "", nil, fmt.Errorf("authority %s: %w", a.Secret, err)
		}
		if data == nil || maps.EqualFunc(data, have[a.Secret], bytes.Equal) {
			return "", nil, nil
		}
		return a.Secret, data, nil
	})
}

func (a Authority) ensure(have Secrets, policy Policy, now time.Time) (map[string][]byte, error) {
	data := have[a.Secret]
	cert, key, err := parsePair(data[a.CertKey], data[a.KeyKey])
	switch {
	case err != nil:
		// Nothing can vouch for the successor of a lost key. What the lost one has signed is accepted until it is replaced.
		data, err = a.make(policy, now, a.lost(have))
	case policy.replaces(cert, now):
		data, err = a.succeed(data, cert, key, policy, now)
	}
	if err != nil {
		return nil, err
	}
	return a.pruned(data, policy, now), nil
}

// replaces tells whether an authority has to make room.
func (p Policy) replaces(cert *x509.Certificate, now time.Time) bool {
	asked := !p.ReplaceBefore.After(now) && Made(cert).Before(p.ReplaceBefore)
	return asked || cert.NotAfter.Sub(now) <= p.AuthorityRenewal()
}

// Made is when one of our certificates was made, which is after the begin of its life: clocks differ.
func Made(cert *x509.Certificate) time.Time { return cert.NotBefore.Add(backdate) }

// make makes an authority that trusts the former ones.
func (a Authority) make(policy Policy, now time.Time, former []*x509.Certificate) (map[string][]byte, error) {
	certPEM, keyPEM, err := sign(a.template(now, now.Add(policy.AuthorityValidity)), nil, nil)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{a.CertKey: certPEM, a.KeyKey: keyPEM, FormerKey: encode(former)}, nil
}

// succeed makes the successor of an authority, which signs it.
func (a Authority) succeed(data map[string][]byte, old *x509.Certificate, oldKey crypto.Signer, policy Policy, now time.Time) (map[string][]byte, error) {
	successor, err := a.make(policy, now, append([]*x509.Certificate{old}, certificates(data[FormerKey])...))
	if err != nil {
		return nil, err
	}
	cert, err := ParseCertificate(successor[a.CertKey])
	if err != nil {
		return nil, err
	}
	end := cert.NotAfter
	if end.After(old.NotAfter) {
		end = old.NotAfter
	}
	cross, err := certify(a.template(now, end), old, cert.PublicKey, oldKey)
	if err != nil {
		return nil, err
	}
	successor[CrossKey] = append(cross, data[CrossKey]...)
	return successor, nil
}

func (a Authority) template(now, end time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: a.CN, OrganizationalUnit: []string{a.OU}},
		NotBefore:             now.Add(-backdate),
		NotAfter:              end,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
}

// predecessor is an authority that signs no more.
type predecessor struct {
	cert     *x509.Certificate
	replaced time.Time
}

// predecessors that a Secret still lists, the youngest first.
func (a Authority) predecessors(data map[string][]byte) []predecessor {
	successor, err := ParseCertificate(data[a.CertKey])
	if err != nil {
		return nil
	}
	var all []predecessor
	for _, cert := range certificates(data[FormerKey]) {
		all = append(all, predecessor{cert, Made(successor)})
		successor = cert
	}
	return all
}

// trustedUntil is when nothing is left that the predecessor has signed.
func (a Authority) trustedUntil(p predecessor, policy Policy) time.Time {
	last := p.replaced.Add(policy.LeafValidity)
	if a.OnMachines || last.After(p.cert.NotAfter) {
		return p.cert.NotAfter
	}
	return last
}

// pruned is the Secret without predecessors that have signed nothing which is still valid.
func (a Authority) pruned(data map[string][]byte, policy Policy, now time.Time) map[string][]byte {
	var former, cross []*x509.Certificate
	for _, p := range a.predecessors(data) {
		if a.trustedUntil(p, policy).After(now) {
			former = append(former, p.cert)
		}
	}
	for _, cert := range certificates(data[CrossKey]) {
		if cert.NotAfter.After(now) {
			cross = append(cross, cert)
		}
	}
	data = maps.Clone(data)
	for key, certs := range map[string][]*x509.Certificate{FormerKey: former, CrossKey: cross} {
		delete(data, key)
		if len(certs) > 0 {
			data[key] = encode(certs)
		}
	}
	return data
}

// lost finds the certificates of an authority whose Secret is gone where its own certificates keep them.
func (a Authority) lost(have Secrets) []*x509.Certificate {
	var found []*x509.Certificate
	for _, name := range have.Names() {
		for _, cert := range certificates(have[name][contract.CAKey]) {
			known := slices.ContainsFunc(found, cert.Equal)
			if name != a.Secret && cert.IsCA && cert.Subject.CommonName == a.CN && !known {
				found = append(found, cert)
			}
		}
	}
	return found
}

// trusted is the authority with the predecessors that are trusted, PEM.
func (a Authority) trusted(data map[string][]byte) []byte {
	current := bytes.TrimSpace(data[a.CertKey])
	if len(current) == 0 {
		return nil
	}
	text := append(slices.Clone(current), '\n')
	if former := bytes.TrimSpace(data[FormerKey]); len(former) > 0 {
		text = append(append(text, former...), '\n')
	}
	return text
}

// Anchor is the oldest authority whose trust suffices to accept what the present one signs, PEM: as long as it stays the same, a
// program that reads its authorities only once need not be restarted for another generation.
func Anchor(data map[string][]byte, certKey string) []byte {
	former, cross := certificates(data[FormerKey]), certificates(data[CrossKey])
	if reach := min(len(former), len(cross)); reach > 0 {
		return encode(former[reach-1 : reach])
	}
	return data[certKey]
}

// certificates reads all that can be read.
func certificates(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, cert)
		}
	}
	return all
}

func encode(certs []*x509.Certificate) []byte {
	var text []byte
	for _, cert := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return text
}

// Trusted is the authority of a Secret with the predecessors that are trusted, PEM.
func (a Authority) Trusted(data map[string][]byte) []byte { return a.trusted(data) }

// Revoked is another authority in the place of one that nobody may trust any more. Nothing vouches for it: the former one stays trusted
// until it is Forgotten, so that who knows only the new one and who knows only the former one work until all know both.
func (a Authority) Revoked(data map[string][]byte, policy Policy, now time.Time) (map[string][]byte, error) {
	former := append(certificates(data[a.CertKey]), certificates(data[FormerKey])...)
	successor, err := a.make(policy, now, former)
	if err != nil {
		return nil, fmt.Errorf("authority %s: %w", a.Secret, err)
	}
	return successor, nil
}

// Forgotten is the Secret of an authority without its predecessors, and with nothing that they have signed.
func Forgotten(data map[string][]byte) map[string][]byte {
	data = maps.Clone(data)
	delete(data, FormerKey)
	delete(data, CrossKey)
	return data
}

// SignRequest makes a client certificate for the key of a request, by the authority of the Secret, for as long as asked or until the authority
// ends. What the authority's predecessor vouches for comes with it.
func (a Authority) SignRequest(data map[string][]byte, request *x509.CertificateRequest, life time.Duration, now time.Time) ([]byte, error) {
	ca, key, err := parsePair(data[a.CertKey], data[a.KeyKey])
	if err != nil {
		return nil, fmt.Errorf("authority %s: %w", a.Secret, err)
	}
	l := Leaf{CN: request.Subject.CommonName, Orgs: request.Subject.Organization, Usages: client}
	certificate, err := certify(l.template(Policy{LeafValidity: life}, now, ca), ca, request.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return append(certificate, data[CrossKey]...), nil
}
