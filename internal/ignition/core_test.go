package ignition

import (
	"strings"
	"testing"
)

// TestFIPSIsAskedFor: where the cluster is to run so, and in no other configuration.
func TestFIPSIsAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		maps, err := CoreConfigMaps("ns", "", asked, nil)
		if err != nil || len(maps) != CoreConfigMapCount {
			t.Fatal(maps, err)
		}
		for _, m := range maps {
			if got := strings.Contains(m.Data["config"], `"fips":true`); got != (asked && m.Name == "ignition-config-fips") {
				t.Errorf("%s asks for FIPS: %t", m.Name, got)
			}
		}
	}
}
