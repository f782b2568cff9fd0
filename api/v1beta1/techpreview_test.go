package v1beta1_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// TestTechPreview tries what the variants for technology previews add, on an API server of its own where they take the place of the
// definitions that the other tests try.
func TestTechPreview(t *testing.T) {
	var preview kubetest.Server
	t.Cleanup(func() {
		if err := preview.Stop(); err != nil {
			t.Error(err)
		}
	})
	cluster, folder := connect(t, &preview), t.TempDir()
	files, err := fs.Glob(config.TechPreview, "techpreview/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no variants: %v", err)
	}
	for _, file := range files {
		raw, err := config.TechPreview.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubectl(t, &preview, "apply", "--server-side", "--force-conflicts", "-f", folder)
	kubectl(t, &preview, "wait", "--for=condition=Established", "--timeout=60s", "-f", folder)
	tryRules(t, cluster, "testdata/techpreview.yaml")
	// What the Default variants accept, these accept, too.
	kubectl(t, &preview, "apply", "--server-side", "--validate=strict", "-f", byHand, "-f", foreign)
}
