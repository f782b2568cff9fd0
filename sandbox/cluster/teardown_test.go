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

func TestLogLinksOfOthersStay(t *testing.T) {
	dir := t.TempDir()
	links, ours := filepath.Join(dir, "containers"), filepath.Join(dir, "sandbox", "pod-logs")
	if err := removeLinksInto(links, ours); err != nil {
		t.Fatal("a directory that is not there:", err)
	}
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"ours": ours + "/pod/0.log", "other": "/var/log/pods/pod/0.log", "near": ours + "-of-another/pod/0.log"} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(links, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := removeLinksInto(links, ours); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(links + "/*")
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	if want := []string{"file", "near", "other"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}
