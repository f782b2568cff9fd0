package sandbox

import (
	"strings"
	"testing"
)

// TestSandboxPayloadRefusals: a release that does not exist, and a sandbox that is not up, are refused before anything is built.
func TestSandboxPayloadRefusals(t *testing.T) {
	cache := t.TempDir()
	for release, want := range map[string]string{"4.99.0": "4.21.0", "4.21.1": "hypershift sandbox up"} {
		if _, err := run(t, "payload", "publish", release, "--dir", t.TempDir(), "--cache", cache); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("release %s: %v, want a word of %q", release, err, want)
		}
	}
}

// TestSandboxTwinRefusals: the same of a twin, whose versions are others.
func TestSandboxTwinRefusals(t *testing.T) {
	for release, want := range map[string]string{"4.20.0": "4.18, 4.21, 4.22, 5.0", "4.22.3": "hypershift sandbox up"} {
		if _, err := run(t, "payload", "publish", "--twin", release, "--dir", t.TempDir(), "--cache", t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("release %s: %v, want a word of %q", release, err, want)
		}
	}
}
