package copyprogram

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestRun: the copy is this program, can be run, and takes the place of a former one.
func TestRun(t *testing.T) {
	to := filepath.Join(t.TempDir(), "program")
	for range 2 {
		if err := Run(t.Context(), Options{To: to}); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if Run(t.Context(), Options{}) == nil {
		t.Error("it copies to nowhere")
	}
}
