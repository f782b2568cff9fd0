package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

var twoAuthorities = slices.DeleteFunc(Authorities(), func(a Authority) bool { return a.Secret != contract.RootCA && a.Secret != contract.CSRSigner })

var twoLeaves = []Leaf{
	{Secret: "server", Signer: contract.RootCA, CN: "server", Usages: server, Hosts: []string{"localhost"}},
	{Secret: "client", Signer: contract.CSRSigner, CN: "client", Usages: client},
}

// pass is what a reconcile does.
func (s Secrets) pass(t *testing.T, policy Policy, now time.Time) []string {
	t.Helper()
	changed := must[Secrets](t)(EnsureAuthorities(s, twoAuthorities, policy, now))
	maps.Copy(s, changed)
	leaves := must[Secrets](t)(EnsureLeaves(s, twoLeaves, policy, now))
	maps.Copy(s, leaves)
	return append(changed.Names(), leaves.Names()...)
}

func (s Secrets) clone() Secrets { return maps.Clone(s) }

// connect does a handshake in which either side trusts what it was given and shows its certificate.
func connect(t *testing.T, servers, clients Secrets, now time.Time) error {
	t.Helper()
	pair := func(have Secrets, name string) tls.Certificate {
		return must[tls.Certificate](t)(tls.X509KeyPair(have[name]["tls.crt"], have[name]["tls.key"]))
	}
	pool := func(have Secrets, name string) *x509.CertPool {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(Trusted(have, name))
		return roots
	}
	clock := func() time.Time { return now }
	here, there := net.Pipe()
	defer here.Close()
	failed := make(chan error, 1)
	go func() {
		defer there.Close()
		side := tls.Server(there, &tls.Config{Time: clock, ClientAuth: tls.RequireAndVerifyClientCert,
			Certificates: []tls.Certificate{pair(servers, "server")}, ClientCAs: pool(servers, contract.CSRSigner)})
		failed <- side.Handshake()
	}()
	side := tls.Client(here, &tls.Config{Time: clock, ServerName: "localhost", RootCAs: pool(clients, contract.RootCA),
		Certificates: []tls.Certificate{pair(clients, "client")}})
	if err := side.Handshake(); err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, side) }()
	return <-failed
}

func TestRotationCutsNobodyOff(t *testing.T) {
	policy, first := DefaultPolicy(), Secrets{}
	first.pass(t, policy, start)
	at := start.Add(100 * day)
	policy.ReplaceBefore = at
	second := first.clone()
	if got := second.pass(t, policy, at); len(got) != 4 {
		t.Fatalf("the replacement changed %v", got)
	}
	if got := second.pass(t, policy, at.Add(time.Minute)); len(got) != 0 {
		t.Errorf("a second pass changes %v", got)
	}
	policy.ReplaceBefore = at.Add(day)
	third := second.clone()
	if got := third.pass(t, policy, at); len(got) != 0 {
		t.Errorf("a date to come replaces %v", got)
	}
	third.pass(t, policy, at.Add(day))
	generations := []Secrets{first, second, third}
	for i, servers := range generations {
		for j, clients := range generations {
			if err := connect(t, servers, clients, at.Add(day)); err != nil {
				t.Errorf("server of generation %d, client of generation %d: %v", i, j, err)
			}
		}
	}
	// The year of the last certificate of the first authority is over: whoever knows only that one is not accepted any more.
	late := at.Add(day + 366*day)
	third.pass(t, policy, late)
	if got := certificates(third[contract.RootCA][FormerKey]); len(got) != 0 {
		t.Errorf("%d predecessors of the root CA are trusted although nothing of theirs is valid", len(got))
	}
	if got := certificates(third[contract.CSRSigner][FormerKey]); len(got) != 2 {
		t.Errorf("%d predecessors of the machines' authority are trusted", len(got))
	}
	if err := connect(t, third, third, late); err != nil {
		t.Errorf("the present generation: %v", err)
	}
}

// What was made within a moment is renewed at once, not one after the other; and nothing before the first of it is due.
func TestRenewalTogether(t *testing.T) {
	policy, have := DefaultPolicy(), Secrets{}
	have.pass(t, policy, start)
	delete(have, "client")
	have.pass(t, policy, start.Add(time.Minute))
	due := start.Add(policy.LeafValidity - policy.Renewal)
	if got := NextChange(have, twoLeaves, policy, start); !got.Equal(due) {
		t.Errorf("the first renewal is at %s, want %s", got, due)
	}
	if got := have.clone().pass(t, policy, due.Add(-time.Second)); len(got) != 0 {
		t.Errorf("renewed early: %v", got)
	}
	if got := have.pass(t, policy, due); len(got) != 2 {
		t.Errorf("renewed: %v, want both", got)
	}
	if got := have.pass(t, policy, due.Add(time.Minute)); len(got) != 0 {
		t.Errorf("renewed again: %v", got)
	}
	// However short lives are, a new certificate is not due.
	if got := (Policy{LeafValidity: time.Hour, Renewal: time.Hour - time.Minute}).together(); got >= time.Minute {
		t.Errorf("%s earlier", got)
	}
}

func TestFormerAuthorityIsCutOffByHand(t *testing.T) {
	policy, first := DefaultPolicy(), Secrets{}
	first.pass(t, policy, start)
	policy.ReplaceBefore = start.Add(day)
	second := first.clone()
	second.pass(t, policy, start.Add(day))
	delete(second[contract.CSRSigner], FormerKey)
	if got := second.pass(t, policy, start.Add(day)); len(got) != 0 {
		t.Errorf("taking a predecessor out changes %v", got)
	}
	if err := connect(t, second, first, start.Add(day)); err == nil {
		t.Error("a client of an authority that was taken out is accepted")
	}
	if err := connect(t, second, second, start.Add(day)); err != nil {
		t.Error(err)
	}
}

func TestAnchor(t *testing.T) {
	policy, first := DefaultPolicy(), Secrets{}
	first.pass(t, policy, start)
	policy.ReplaceBefore = start.Add(day)
	second := first.clone()
	second.pass(t, policy, start.Add(day))
	lost := second.clone()
	delete(lost, contract.RootCA)
	lost.pass(t, policy, start.Add(2*day))
	cut := maps.Clone(second[contract.RootCA])
	delete(cut, FormerKey)
	for name, test := range map[string]struct{ have, want map[string][]byte }{
		"of its own": {first[contract.RootCA], first[contract.RootCA]}, "vouched for": {second[contract.RootCA], first[contract.RootCA]},
		"lost": {lost[contract.RootCA], lost[contract.RootCA]}, "cut off": {cut, second[contract.RootCA]},
	} {
		if got := Anchor(test.have, "ca.crt"); !bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(test.want["ca.crt"])) {
			t.Errorf("%s: another anchor", name)
		}
	}
}

func TestLostAuthority(t *testing.T) {
	policy, first := DefaultPolicy(), Secrets{}
	first.pass(t, policy, start)
	second := first.clone()
	delete(second, contract.CSRSigner)
	if got := second.pass(t, policy, start.Add(day)); !slices.Equal(got, []string{contract.CSRSigner, "client"}) {
		t.Errorf("a deleted authority changes %v", got)
	}
	for _, clients := range []Secrets{first, second} {
		if err := connect(t, second, clients, start.Add(day)); err != nil {
			t.Errorf("after an authority was deleted: %v", err)
		}
	}
	if got := second.pass(t, policy, start.Add(2*day)); len(got) != 0 {
		t.Errorf("it does not come to rest: %v", got)
	}
}

func TestAuthorityIsReplacedBeforeItCutsLeavesShort(t *testing.T) {
	policy, have := Policy{AuthorityValidity: 3650 * day, LeafValidity: 1000 * day, Renewal: 100 * day}, Secrets{}
	have.pass(t, policy, start)
	now := start
	for range 4 {
		next := NextChange(have, twoLeaves, policy, now)
		if !next.After(now) {
			t.Fatalf("after %v nothing is due any more", now.Sub(start))
		}
		now = next
		have.pass(t, policy, now)
		for _, l := range twoLeaves {
			if cert := leaf(t, have, l.Secret, "tls.crt"); cert.NotAfter.Sub(now) <= policy.Renewal {
				t.Fatalf("%s has %v left after %v", l.Secret, cert.NotAfter.Sub(now), now.Sub(start))
			}
		}
	}
	if leaf(t, have, contract.RootCA, "ca.crt").NotBefore.Before(start.Add(2500 * day)) {
		t.Errorf("the root CA was not replaced in %v", now.Sub(start))
	}
}

func TestKubeconfigsTrustBoth(t *testing.T) {
	policy, first := DefaultPolicy(), Secrets{}
	first.pass(t, policy, start)
	policy.ReplaceBefore = start.Add(day)
	second := first.clone()
	second.pass(t, policy, start.Add(day))
	both := Trusted(second, contract.RootCA)
	for _, have := range []Secrets{first, second} {
		if !bytes.Contains(both, bytes.TrimSpace(have[contract.RootCA]["ca.crt"])) {
			t.Error("the bundle lacks an authority")
		}
	}
	if bundle := Bundles(second, nil)["root-ca"]; !bytes.Equal(bundle, both) {
		t.Error("ConfigMap root-ca is another one")
	}
}

func TestPolicyFromEnvironment(t *testing.T) {
	from := func(env map[string]string) (Policy, error) {
		return PolicyFromEnvironment(func(name string) string { return env[name] })
	}
	for _, test := range []struct {
		env  map[string]string
		want Policy
	}{
		{nil, DefaultPolicy()},
		{map[string]string{"CERT_ROTATION_SCALE": "24h0m0s"}, DefaultPolicy()},
		{map[string]string{"CERT_ROTATION_SCALE": "1m"}, Policy{AuthorityValidity: 3650 * time.Minute, LeafValidity: 365 * time.Minute, Renewal: 30 * time.Minute}},
		{map[string]string{"CERTIFICATE_VALIDITY": "1h"}, Policy{AuthorityValidity: 3650 * day, LeafValidity: time.Hour, Renewal: 20 * time.Minute}},
		{map[string]string{"CERTIFICATE_VALIDITY": "1h", "CERTIFICATE_RENEWAL": "0.75"}, Policy{AuthorityValidity: 3650 * day, LeafValidity: time.Hour, Renewal: 45 * time.Minute}},
	} {
		if got := must[Policy](t)(from(test.env)); got != test.want {
			t.Errorf("%v: %+v", test.env, got)
		}
	}
	for name, value := range map[string]string{"CERT_ROTATION_SCALE": "25h", "CERTIFICATE_VALIDITY": "-1h", "CERTIFICATE_RENEWAL": "1"} {
		if _, err := from(map[string]string{name: value}); err == nil {
			t.Errorf("%s=%s passes", name, value)
		}
	}
}
