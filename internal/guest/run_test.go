package guest

import (
	"strings"
	"testing"
)

// Everything that is missing is told at once, in the same order each time.
func TestMissingOptionsAreToldInOrder(t *testing.T) {
	for range 20 {
		err := (&Options{TargetKubeconfig: "kubeconfig"}).validate()
		if err == nil || !strings.HasPrefix(err.Error(), "hosted-cluster-config-operator: --namespace is missing") ||
			!strings.Contains(err.Error(), "--konnectivity-address is missing") {
			t.Fatal(err)
		}
	}
}
