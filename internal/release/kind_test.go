package release_test

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// What a payload is follows from what a registry serves: either operator makes it OpenShift's.
func TestKind(t *testing.T) {
	for title, c := range map[string]struct {
		with []string
		want release.Kind
	}{
		"Kubernetes":       {nil, release.KindKubernetes},
		"OpenShift":        {releasetest.OpenShiftKeys, release.KindOpenShift},
		"version operator": {[]string{"cluster-version-operator"}, release.KindOpenShift},
		"machine config":   {[]string{"machine-config-operator"}, release.KindOpenShift},
		"some operator":    {[]string{"cluster-ingress-operator"}, release.KindKubernetes},
	} {
		t.Run(title, func(t *testing.T) {
			image := releasetest.New(t).PushPayload(t, "4.21.0", releasetest.Payload{Version: "4.21.0", With: c.with})
			found, err := release.Reader{}.Lookup(t.Context(), image, release.Access{})
			if err != nil || found.Kind() != c.want {
				t.Fatalf("kind %v, %v", found, err)
			}
		})
	}
}
