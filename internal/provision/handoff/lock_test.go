package handoff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLockHandoff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	release, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); err == nil || !strings.Contains(err.Error(), "another command is at work") {
		t.Errorf("a second lock: %v", err)
	}
	if other, err := Lock(path + "2"); err != nil {
		t.Errorf("another file: %v", err)
	} else {
		other()
	}
	release()
	if _, err := os.Stat(path + ".lock"); !os.IsNotExist(err) {
		t.Errorf("the lock is left behind: %v", err)
	}
	// What a killed command leaves.
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release, err = Lock(path)
	if err != nil {
		t.Fatalf("a stale lock: %v", err)
	}
	release()
}
