package clusterconfig

import (
	"slices"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestCapabilities(t *testing.T) {
	all := Capabilities(nil)
	if !slices.Contains(all, "Ingress") || !slices.IsSorted(all) || slices.Contains(all, "baremetal") {
		t.Errorf("by default: %v", all)
	}
	some := Capabilities(&hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{"Ingress"}, Enabled: []hyperv1.OptionalCapability{"baremetal"}})
	if slices.Contains(some, "Ingress") || !slices.Contains(some, "baremetal") || !slices.IsSorted(some) || len(some) != len(all) {
		t.Errorf("as the user wants them: %v", some)
	}
}
