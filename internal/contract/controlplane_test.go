package contract

import "testing"

func TestControlPlaneNamespace(t *testing.T) {
	if got := ControlPlaneNamespace("clusters", "a.b"); got != "clusters-a-b" {
		t.Errorf("namespace %q", got)
	}
}
