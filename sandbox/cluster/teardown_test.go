package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestShimStateOfOthersStays(t *testing.T) {
	dir := t.TempDir()
	state, shared := filepath.Join(dir, "ours"), filepath.Join(dir, "shared")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"s/one", "s/other", "runc/k8s.io/a/state.json", "runc/k8s.io/b/state.json", "runc/k8s.io/c/state.json"} {
		write(filepath.Join(shared, name), "")
	}
	outside := filepath.Join(dir, "outside")
	write(outside, "")
	tasks := filepath.Join(state, "io.containerd.runtime.v2.task", "k8s.io")
	write(filepath.Join(tasks, "a", "address"), "unix://"+filepath.Join(shared, "s/one"))
	write(filepath.Join(tasks, "b", "address"), "unix://"+filepath.Join(shared, "s/one")+"\n")
	write(filepath.Join(tasks, "strange", "address"), "unix://"+outside)
	for range 2 {
		if err := removeShimState(state, shared); err != nil {
			t.Fatal(err)
		}
	}
	sockets, _ := filepath.Glob(shared + "/s/*")
	containers, _ := filepath.Glob(shared + "/runc/k8s.io/*")
	if want := []string{shared + "/s/other", shared + "/runc/k8s.io/c"}; !slices.Equal(append(sockets, containers...), want) {
		t.Errorf("left: %v and %v, want %v", sockets, containers, want)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a file outside was removed")
	}
}
