package scheduler

import (
	"strings"
	"testing"
)

func TestProfiles(t *testing.T) {
	for name, want := range map[string]string{"": "default-scheduler", "LowNodeUtilization": "default-scheduler", "HighNodeUtilization": "MostAllocated", "NoScoring": `"name": "*"`} {
		text, err := configuration(name, true)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("profile %q: error %v, %q is missing from %s", name, err, want, text)
		}
		if name != "HighNodeUtilization" && strings.Contains(text, "MostAllocated") {
			t.Errorf("profile %q fills nodes up", name)
		}
	}
	if _, err := configuration("Random", true); err == nil || !strings.Contains(err.Error(), "spec.configuration.scheduler.profile") {
		t.Errorf("an unknown profile: %v", err)
	}
}
