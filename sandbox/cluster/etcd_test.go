package cluster

import (
	"crypto/tls"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestEtcdAsksForCertificates: etcd of the management cluster is the machine's own, and asks clients and peers for certificates. A peer's
// has a name of its own, because the same authority signs those of clients.
func TestEtcdAsksForCertificates(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureClusterPKI(); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(c.pki("etcd.crt"), c.pki("etcd.key"))
	if err != nil {
		t.Fatal(err)
	}
	args := c.etcdArgs()
	for _, want := range []string{"--client-cert-auth", "--peer-client-cert-auth", "--peer-cert-allowed-cn=" + pair.Leaf.Subject.CommonName} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is not among %q", want, args)
		}
	}
	listens := 0
	for _, arg := range args {
		flag, address, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(flag, "--listen-") {
			continue
		}
		listens++
		u, err := url.Parse(address)
		if err != nil || u.Hostname() != "127.0.0.1" || u.Scheme != "https" && flag != "--listen-metrics-urls" {
			t.Errorf("%s (%v)", arg, err)
		}
	}
	if listens != 3 {
		t.Errorf("etcd listens %d times", listens)
	}
}
