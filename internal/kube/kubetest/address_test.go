package kubetest

import "testing"

// TestFreeAddress: no two programs of one test are given one port.
func TestFreeAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 2000 {
		address := FreeAddress(t)
		if seen[address] {
			t.Fatalf("%s twice", address)
		}
		seen[address] = true
	}
}
