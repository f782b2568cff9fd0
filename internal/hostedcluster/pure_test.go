package hostedcluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

func TestInfraID(t *testing.T) {
	first := func(int) int { return 0 }
	for name, want := range map[string]string{
		"demo":                           "demo-bbbbb",
		"my.Cluster":                     "my-cluster-bbbbb",
		"a..b":                           "a-b-bbbbb",
		"abcdefghijklmnopqrst.vwxyz":     "abcdefghijklmnopqrst-bbbbb",
		"abcdefghijklmnopqrstuvwxyz0123": "abcdefghijklmnopqrstu-bbbbb",
	} {
		if got := infraID(name, first); got != want || len(got) > 27 {
			t.Errorf("infraID(%q) = %q, want %q", name, got, want)
		}
	}
	if got := ControlPlaneNamespace("clusters", "a.b"); got != "clusters-a-b" {
		t.Errorf("namespace %q", got)
	}
}

func TestParseResourceID(t *testing.T) {
	const base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"
	for _, c := range []struct {
		id, kind string
		want     resourceID
		fails    bool
	}{
		{id: base, kind: "virtualNetworks", want: resourceID{"g", "v"}},
		{id: base + "/subnets/n", kind: "subnets", want: resourceID{"g", "n"}},
		{id: strings.ToLower(base), kind: "virtualNetworks", want: resourceID{"g", "v"}},
		{id: base, kind: "subnets", fails: true},
		{id: "", kind: "subnets", fails: true},
		{id: "/resourceGroups", kind: "subnets", fails: true},
	} {
		got, err := parseResourceID(c.id, c.kind)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("parseResourceID(%q, %q) = %v, %v", c.id, c.kind, got, err)
		}
	}
}

func FuzzParseResourceID(f *testing.F) {
	f.Add("/subscriptions/s/resourceGroups/g/providers/p/subnets/n")
	f.Fuzz(func(t *testing.T, id string) {
		if found, err := parseResourceID(id, "subnets"); err == nil && (found.group == "" || found.name == "") {
			t.Errorf("accepted %q as %v", id, found)
		}
	})
}

func TestUnsupported(t *testing.T) {
	route := []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Ignition, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}}}
	managed := &hyperv1.AzurePlatformSpec{AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{AzureAuthenticationConfigType: hyperv1.AzureManagedIdentities}}
	for title, c := range map[string]struct {
		spec   hyperv1.HostedClusterSpec
		routes bool
		want   string
	}{
		"AWS":                {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform}}, true, "Platform AWS"},
		"managed identities": {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: managed}}, true, "Managed identities"},
		"no routes":          {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}, Services: route}, false, "route.openshift.io"},
		"fine":               {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}, Services: route}, true, ""},
	} {
		got := support.Join(unsupported(&hyperv1.HostedCluster{Spec: c.spec}, Capabilities{Routes: c.routes}))
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", title, got, c.want)
		}
	}
}

func newPass(hc *hyperv1.HostedCluster) *pass {
	r := &Reconciler{Options: Options{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }}}
	return &pass{Reconciler: r, hc: hc, names: namesOf(hc)}
}

func TestPause(t *testing.T) {
	for value, want := range map[string]struct {
		paused bool
		reason string
		again  time.Duration
	}{
		"":                     {false, hyperv1.AsExpectedReason, 0},
		"true":                 {true, hyperv1.ReconciliationPausedReason, 0},
		"False":                {false, hyperv1.AsExpectedReason, 0},
		"2026-01-01T01:00:00Z": {true, hyperv1.ReconciliationPausedReason, time.Hour},
		"2025-01-01T01:00:00Z": {false, hyperv1.AsExpectedReason, 0},
		"tomorrow":             {false, hyperv1.InvalidPausedUntilReason, 0},
	} {
		p := newPass(&hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{PausedUntil: ptr.To(value)}})
		paused := p.pauseState()
		condition := kube.Find(p.hc.Status.Conditions, hyperv1.ReconciliationActive)
		if paused != want.paused || condition.Reason != want.reason || p.again != want.again {
			t.Errorf("%q: paused %t reason %s again %s", value, paused, condition.Reason, p.again)
		}
	}
}

func TestSigningKeyData(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	data, err := signingKeyData(map[string][]byte{"key": private, "old-key.pub": []byte("OLD")})
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(data[signingPublicKey])
	if block == nil || strings.TrimSpace(string(rest)) != "OLD" {
		t.Fatalf("public keys %s", data[signingPublicKey])
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil || !key.PublicKey.Equal(public) {
		t.Errorf("public key does not belong to the private one: %v", err)
	}
	for _, bad := range []string{"", "no pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := signingKeyData(map[string][]byte{"key": []byte(bad)}); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}
