package clusterconfig

import (
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// TestCatalogImages: the version, the overrides and the annotations decide; half of the annotations, or a tag, are an error.
func TestCatalogImages(t *testing.T) {
	const overrides = hyperv1.OLMCatalogRegistryOverridesAnnotation
	all := map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r@sha256:1", hyperv1.CommunityOperatorsCatalogAnnotation: "mine/c@sha256:2",
		hyperv1.CertifiedOperatorsCatalogAnnotation: "mine/e@sha256:3"}
	for _, test := range []struct {
		version     string
		annotations map[string]string
		want, cue   string
	}{
		{"4.21.3", nil, "registry.redhat.io/redhat/redhat-operator-index:v4.21", ""},
		{"4.23.0-rc.1", nil, "registry.redhat.io/redhat/redhat-operator-index:v4.22", ""},
		{"5.0.1", nil, "registry.redhat.io/redhat/redhat-operator-index:v4.22", ""},
		{"4.18.0", map[string]string{overrides: "quay.io=other,registry.redhat.io=mirror.example.com"}, "mirror.example.com/redhat/redhat-operator-index:v4.18", ""},
		{"4.18.0", map[string]string{overrides: "registry.redhat.io/redhat=mirror.example.com/olm"}, "mirror.example.com/olm/redhat-operator-index:v4.18", ""},
		{"4.18.0", map[string]string{overrides: "registry.redhat.io"}, "", "SOURCE=DESTINATION"},
		{"any", all, "mine/r@sha256:1", ""},
		{"4.18.0", map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r@sha256:1"}, "", "all of them or none"},
		{"4.18.0", map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r:v1"}, "", "by no digest"},
		{"latest", nil, "", "two numbers"},
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Annotations = test.annotations
		got, err := CatalogImages(hcp, test.version)
		if got["redhat-operators"] != test.want || (err == nil) != (test.cue == "") || err != nil && !strings.Contains(err.Error(), test.cue) {
			t.Errorf("%s %v: %v, %v; want %q %q", test.version, test.annotations, got, err, test.want, test.cue)
		}
	}
}
