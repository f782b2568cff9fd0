package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// hello is a release of a small program with the command line's descriptions.
func hello(t *testing.T, dist string) release {
	t.Helper()
	t.Chdir("../..")
	return release{source: "./hack/release/testdata/hello", version: "v1.2.3", ldflags: "-s -w", dist: dist,
		platforms: []string{runtime.GOOS + "/" + runtime.GOARCH}, at: at, root: cli.NewRoot(),
		images: func(_ context.Context, path string) error { return os.WriteFile(path, []byte("images"), 0o600) }}
}

// A release is whole, its checksums are true, and a second one is the same to the byte; what others put into the folder stays.
func TestRelease(t *testing.T) {
	dist := t.TempDir()
	name := "hello_v1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	for _, former := range []string{"hello_v1.0.0_linux_amd64.tar.gz", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dist, former), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := hello(t, dist), t.TempDir()
	if err := first.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	checksums, err := os.ReadFile(filepath.Join(dist, checksumsFile))
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, file := range []string{"hello-images.tar", name + billSuffix, name + ".tar.gz"} {
		content, err := os.ReadFile(filepath.Join(dist, file))
		if err != nil {
			t.Fatal(err)
		}
		want += fmt.Sprintf("%x  %s\n", sha256.Sum256(content), file)
	}
	if string(checksums) != want {
		t.Errorf("checksums\n%swant\n%s", checksums, want)
	}
	entries, err := os.ReadDir(dist)
	if err != nil || len(entries) != 5 {
		t.Errorf("files %v, %v; want the release's four and notes.txt", entries, err)
	}
	again := first
	again.dist, again.root = second, cli.NewRoot()
	if err := again.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if repeated, err := os.ReadFile(filepath.Join(second, checksumsFile)); err != nil || !bytes.Equal(repeated, checksums) {
		t.Errorf("a second release differs: %v\n%s%s", err, checksums, repeated)
	}
}

// contents of an archive by path.
func contents(t *testing.T, archive []byte) map[string]*tar.Header {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]*tar.Header{}
	for reader := tar.NewReader(packed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name] = header
	}
}

func TestArchive(t *testing.T) {
	files := []file{{path: "b", mode: 0o755, content: []byte("x")}, {path: "a", mode: 0o644, content: []byte("y")}}
	one, err := archiveOf(files, at)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	if other, err := archiveOf(files, at); err != nil || !bytes.Equal(one, other) {
		t.Errorf("the order of the files shows: %v", err)
	}
	for name, header := range contents(t, one) {
		if !header.ModTime.Equal(at) || header.Uid != 0 || header.Uname != "" || (name == "b") != (header.Mode == 0o755) {
			t.Errorf("%s: %+v", name, header)
		}
	}
}

// Every command that help shows has a manual page, every shell a completion; nothing names a folder of this machine.
func TestDescription(t *testing.T) {
	r := hello(t, t.TempDir())
	files, err := r.describe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range files {
		found[f.path] = string(f.content)
		if strings.HasPrefix(f.path, "man/") && strings.Contains(string(f.content), home+"/") {
			t.Errorf("%s names %s", f.path, home)
		}
	}
	for path, cue := range map[string]string{
		"LICENSE": "Apache License", "README.md": "HyperShift", "completions/hello.bash": "__hypershift", "completions/hello.zsh": "#compdef hypershift",
		"completions/hello.fish": "complete -c hypershift", "man/man1/hypershift.1": "hello v1.2.3", "man/man1/hypershift-create-cluster-azure.1": "release-image",
		"man/man1/hypershift-sandbox-up.1": "Jan 2026",
	} {
		if !strings.Contains(found[path], cue) {
			t.Errorf("%s lacks %q: %.200s", path, cue, found[path])
		}
	}
	if _, ok := found["man/man1/hypershift-sandbox-run.1"]; ok {
		t.Error("a hidden command has a page")
	}
	if !(file{path: "man/man1/hypershift-sandbox-up.1"}).linuxOnly() || (file{path: "man/man1/hypershift-sandbox.1"}).linuxOnly() {
		t.Error("pages of the sandbox are not told from others")
	}
}

func TestBill(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bill, err := billOf(binary, "hypershift", "v1.2.3", "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"pkg:golang/github.com/spf13/cobra@v`, `"name": "golang:module:sum"`, `"value": "h1:`, `"pkg:golang/std@` + runtime.Version(), `"version": "v1.2.3"`, `"bomFormat": "CycloneDX"`} {
		if !strings.Contains(string(bill), want) {
			t.Errorf("the bill lacks %s", want)
		}
	}
	if _, err := billOf("release_test.go", "hypershift", "v1.2.3", "linux/amd64"); err == nil {
		t.Error("a file that is no program has a bill")
	}
}

func TestReleaseRefuses(t *testing.T) {
	for cue, change := range map[string]func(*release){
		"version":             func(r *release) { r.version = "v1/../x" },
		"--platforms is":      func(r *release) { r.platforms = nil },
		"OS/ARCHITECTURE":     func(r *release) { r.platforms = []string{"linux"} },
		"root of the reposit": func(r *release) { r.source = "./cmd/absent" },
	} {
		t.Run(cue, func(t *testing.T) {
			r := hello(t, filepath.Join(t.TempDir(), "dist"))
			change(&r)
			if err := r.make(t.Context()); err == nil || !strings.Contains(err.Error(), cue) {
				t.Errorf("error %v, want one with %q", err, cue)
			}
			if _, err := os.Stat(r.dist); err == nil {
				t.Error("something was written")
			}
		})
	}
}
