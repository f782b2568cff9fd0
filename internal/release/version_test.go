package release

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		target, current string
		network         hyperv1.NetworkType
		any             bool
		refusal         string
	}{
		{target: "4.21.0"},
		{target: "4.14.0-rc.1"},
		{target: "5.1.9"},
		{target: "latest", refusal: "semantic"},
		{target: "4.13.9", refusal: "4.14 to 5.1"},
		{target: "5.2.0", refusal: "4.14 to 5.1"},
		{target: "6.0.0", refusal: "4.14 to 5.1"},
		{target: "4.13.9", any: true},
		{target: "5.2.0", any: true},
		{target: "4.7.9", any: true, refusal: "4.8"},
		{target: "3.11.0", any: true, refusal: "4.8"},
		{target: "4.21.0", current: "4.21.3"},
		{target: "4.20.9", current: "4.21.0", refusal: "taken back"},
		{target: "4.20.9", current: "4.21.0", any: true, refusal: "taken back"},
		{target: "4.23.1", current: "5.0.0"},
		{target: "5.0.0", current: "4.23.1"},
		{target: "4.23.1", current: "5.1.0", refusal: "taken back"},
		{target: "4.21.0", network: hyperv1.OpenShiftSDN, refusal: "OVNKubernetes"},
		{target: "4.10.1", network: hyperv1.OpenShiftSDN, any: true},
		{target: "4.15.1", current: "4.15.0", network: hyperv1.OpenShiftSDN},
		{target: "4.16.0", current: "4.15.0", network: hyperv1.OpenShiftSDN, refusal: "does not go over"},
		{target: "4.10.1", network: hyperv1.OVNKubernetes, any: true, refusal: "begins after"},
		{target: "4.10.2", current: "4.10.1", network: hyperv1.OVNKubernetes, any: true},
		{target: "4.21.0", network: hyperv1.OtherNetwork},
	} {
		policy := Policy{Network: c.network, AnyVersion: c.any}
		if c.current != "" {
			policy.Current = version.MustParseSemantic(c.current)
		}
		_, err := policy.Check(c.target)
		if (err == nil) != (c.refusal == "") || (err != nil && !strings.Contains(err.Error(), c.refusal)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestMinor(t *testing.T) {
	for v, want := range map[string]int{"4.14.3": 14, "4.23.0": 23, "5.0.0": 23, "5.1.0": 24} {
		if got := Minor(version.MustParseSemantic(v)); got != want {
			t.Errorf("%s is %d, want %d", v, got, want)
		}
	}
	for v, want := range map[string]bool{"4.19.9": false, "4.20.0-ec.1": true, "5.0.0": true} {
		if got, err := AtLeast(v, 4, 20); err != nil || got != want {
			t.Errorf("%s: %t, %v", v, got, err)
		}
	}
	if _, err := AtLeast("new", 4, 20); err == nil {
		t.Error("a word is a version")
	}
}

func TestSupportedMinors(t *testing.T) {
	want := []string{"5.1", "5.0", "4.23", "4.22", "4.21", "4.20", "4.19", "4.18", "4.17", "4.16", "4.15", "4.14"}
	if got := SupportedMinors(); !slices.Equal(got, want) {
		t.Errorf("minors %v", got)
	}
}

func TestRequired(t *testing.T) {
	azure, none := Required(hyperv1.AzurePlatform), Required(hyperv1.NonePlatform)
	if !slices.Contains(azure, KeyAzureProvider) || slices.Contains(none, KeyAzureProvider) || !slices.Contains(none, "etcd") {
		t.Errorf("Azure %v, None %v", azure, none)
	}
	for _, openshift := range []string{"oauth-server", "cluster-version-operator", "openshift-apiserver", KeyHypershift} {
		if slices.Contains(azure, openshift) {
			t.Errorf("%s is required, so that no Kubernetes payload can be used", openshift)
		}
	}
}
