package pki

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Policy is how long certificates live.
type Policy struct {
	AuthorityValidity time.Duration
	LeafValidity      time.Duration
	// Renewal is how much life must remain; with less, the certificate is made anew.
	Renewal time.Duration
	// ReplaceBefore, when set, replaces every authority that was made before it.
	ReplaceBefore time.Time
}

const day = 24 * time.Hour

// DefaultPolicy is ten years, one year, thirty days.
func DefaultPolicy() Policy {
	return Policy{AuthorityValidity: 3650 * day, LeafValidity: 365 * day, Renewal: 30 * day}
}

// PolicyFromEnvironment reads how long certificates live: CERT_ROTATION_SCALE is how long one of the default's days lasts,
// CERTIFICATE_VALIDITY the life of a certificate, CERTIFICATE_RENEWAL the fraction of it that must remain.
func PolicyFromEnvironment(env func(string) string) (Policy, error) {
	policy := DefaultPolicy()
	if text := env(contract.CertificateScaleEnv); text != "" {
		scale, err := time.ParseDuration(text)
		if err != nil || scale <= 0 || scale > day {
			return policy, fmt.Errorf("CERT_ROTATION_SCALE=%q is not a duration above 0 and up to 24h", text)
		}
		policy = policy.scaled(scale)
	}
	if text := env(contract.CertificateValidityEnv); text != "" {
		validity, err := time.ParseDuration(text)
		if err != nil || validity <= 0 {
			return policy, fmt.Errorf("CERTIFICATE_VALIDITY=%q is not a positive duration such as 8760h", text)
		}
		policy.LeafValidity = validity
		policy.Renewal = min(policy.Renewal, validity/3)
	}
	if text := env(contract.CertificateRenewalEnv); text != "" {
		fraction, err := strconv.ParseFloat(text, 64)
		if err != nil || fraction <= 0 || fraction >= 1 {
			return policy, fmt.Errorf("CERTIFICATE_RENEWAL=%q is not a fraction between 0 and 1", text)
		}
		policy.Renewal = time.Duration(float64(policy.LeafValidity) * fraction)
	}
	return policy, nil
}

// scaled compresses all lifetimes as if a day lasted so long.
func (p Policy) scaled(scale time.Duration) Policy {
	compress := func(d time.Duration) time.Duration { return time.Duration(float64(d) / float64(day) * float64(scale)) }
	p.AuthorityValidity, p.LeafValidity, p.Renewal = compress(p.AuthorityValidity), compress(p.LeafValidity), compress(p.Renewal)
	return p
}

// shortestBrief is the life of a Brief certificate where the policy's day is shorter.
const shortestBrief = time.Hour

// of is the policy for one certificate: a Brief one lives a 365th of the others' time, a day by default, and is renewed half-way.
func (p Policy) of(l Leaf) Policy {
	if !l.Brief {
		return p
	}
	p.LeafValidity = max(p.LeafValidity/365, min(p.LeafValidity, shortestBrief))
	p.Renewal = min(p.Renewal, p.LeafValidity/2)
	return p
}

// together is how much earlier than it must a certificate is renewed along with another: those that were made within a moment must not
// become due, and restart the same pods, one after the other.
func (p Policy) together() time.Duration {
	return max(0, min(p.Renewal, p.LeafValidity-p.Renewal)/10)
}

// AuthorityRenewal is how much life of an authority must remain: what it signs must not be cut short, and machines that know no
// other one need time to be replaced.
func (p Policy) AuthorityRenewal() time.Duration {
	return min(p.LeafValidity+p.Renewal, p.AuthorityValidity/2)
}

// NextChange is when the first of the certificates has to be made anew; zero when there is none. What is not yet there, or is due,
// is for the pass that runs.
func NextChange(have Secrets, leaves []Leaf, policy Policy, now time.Time) time.Time {
	var next time.Time
	consider := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(policy.ReplaceBefore)
	for _, l := range leaves {
		certKey, _ := l.keys()
		if cert, err := ParseCertificate(have[l.Secret][certKey]); err == nil {
			consider(cert.NotAfter.Add(-policy.of(l).Renewal))
		}
	}
	for _, a := range Authorities() {
		if cert, err := ParseCertificate(have[a.Secret][a.CertKey]); err == nil {
			consider(cert.NotAfter.Add(-policy.AuthorityRenewal()))
			for _, p := range a.predecessors(have[a.Secret]) {
				consider(a.trustedUntil(p, policy))
			}
		}
	}
	return next
}
