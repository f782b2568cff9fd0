package release_test

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// What a payload is follows from what a registry serves: either operator makes it OpenShift's, and no node runs such a payload.
func TestKind(t *testing.T) {
	for title, c := range map[string]struct {
		with []string
		want release.Kind
		cue  string
	}{
		"Kubernetes":       {nil, release.KindKubernetes, ""},
		"OpenShift":        {releasetest.OpenShiftKeys, release.KindOpenShift, "has cluster-version-operator and machine-config-operator)"},
		"version operator": {[]string{"cluster-version-operator"}, release.KindOpenShift, "has cluster-version-operator)"},
		"machine config":   {[]string{"machine-config-operator"}, release.KindOpenShift, "has machine-config-operator)"},
		"some operator":    {[]string{"cluster-ingress-operator"}, release.KindKubernetes, ""},
	} {
		t.Run(title, func(t *testing.T) {
			image := releasetest.New(t).PushPayload(t, "4.21.0", releasetest.Payload{Version: "4.21.0", With: c.with})
			found, err := release.Reader{}.Lookup(t.Context(), image, release.Access{})
			if err != nil || found.Kind() != c.want {
				t.Fatalf("kind %v, %v", found, err)
			}
			err = found.ForNodes()
			if c.cue == "" && err != nil || c.cue != "" && (err == nil || !strings.Contains(err.Error(), c.cue) || !strings.Contains(err.Error(), "for nodes use a payload of kind Kubernetes")) {
				t.Errorf("for nodes: %v", err)
			}
		})
	}
}
