package hostedcluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
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
	managed := &hyperv1.AzurePlatformSpec{}
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
		got := unsupported(&hyperv1.HostedCluster{Spec: c.spec}, Capabilities{Routes: c.routes})
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

func TestInvalidRelease(t *testing.T) {
	images := map[string]string{}
	for _, key := range release.RequiredKeys {
		images[key] = "x"
	}
	without := map[string]string{"hypershift": "x"}
	completed := func(version string) *hyperv1.ClusterVersionStatus {
		return &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "9.9.9"}, {State: hyperv1.CompletedUpdate, Version: version}}}
	}
	for _, c := range []struct {
		title, version string
		images         map[string]string
		annotations    map[string]string
		current        *hyperv1.ClusterVersionStatus
		want           string
	}{
		{title: "fine", version: "4.21.0", images: images},
		{title: "newest", version: "5.1.3", images: images},
		{title: "z-stream back", version: "4.21.0", images: images, current: completed("4.21.3")},
		{title: "no version", version: "latest", images: images, want: "semantic"},
		{title: "too old", version: "4.13.9", images: images, want: "4.14 to 5.1"},
		{title: "too new", version: "5.2.0", images: images, want: "not supported"},
		{title: "skipped", version: "5.2.0", images: images, annotations: map[string]string{hyperv1.SkipReleaseImageValidation: ""}},
		{title: "minor back", version: "4.20.9", images: images, current: completed("4.21.0"), want: "taken back"},
		{title: "images", version: "4.21.0", images: without, want: "etcd"},
	} {
		p := newPass(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Status: hyperv1.HostedClusterStatus{Version: c.current}})
		err := p.invalidRelease(&release.Release{Version: c.version, Images: c.images})
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.title, err)
		}
	}
}

func TestGateUpgrade(t *testing.T) {
	blocked := []metav1.Condition{{Type: hyperv1.ClusterVersionUpgradeable, Status: metav1.ConditionFalse, Message: "an operator says no"}}
	for title, c := range map[string]struct {
		wanted      string
		conditions  []metav1.Condition
		annotations map[string]string
		allowed     bool
	}{
		"upgradeable":     {wanted: "4.22.0", allowed: true},
		"z-stream":        {wanted: "4.21.1", conditions: blocked, allowed: true},
		"minor":           {wanted: "4.22.0", conditions: blocked},
		"forced":          {wanted: "4.22.0", conditions: blocked, annotations: map[string]string{hyperv1.ForceUpgradeToAnnotation: "new"}, allowed: true},
		"forced to other": {wanted: "4.21.1", conditions: blocked, annotations: map[string]string{hyperv1.ForceUpgradeToAnnotation: "other"}},
	} {
		p := newPass(&hyperv1.HostedCluster{
			ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations},
			Spec:       hyperv1.HostedClusterSpec{Release: hyperv1.Release{Image: "new"}},
			Status: hyperv1.HostedClusterStatus{Conditions: c.conditions, Version: &hyperv1.ClusterVersionStatus{
				Desired: hyperv1.VersionRelease{Image: "old"}, History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: "4.21.0"}}}},
		})
		p.release = &release.Release{Version: c.wanted}
		if err := p.gateUpgrade(t.Context()); (err == nil) != c.allowed {
			t.Errorf("%s: %v", title, err)
		}
	}
}

func TestSupportedMinors(t *testing.T) {
	minors := supportedMinors()
	if got := strings.Join(minors[:4], " "); got != "5.1 5.0 4.23 4.22" || minors[len(minors)-1] != "4.14" {
		t.Errorf("minors %v", minors)
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
