package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

var taking = []Taken{
	{From: "usr/bin/program", To: "bin/program", Mode: 0o700},
	{From: "etc/templates/", To: "templates", Mode: 0o600},
	{From: "usr/lib/other", To: "bin/other", Mode: 0o700, Optional: true},
}

// filesBelow are the regular files of a directory with their contents.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		name, _ := filepath.Rel(dir, file)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func unpackInto(t *testing.T, image v1.Image, wanted []Taken) (map[string]string, error) {
	t.Helper()
	reference, access := push(t, image)
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile("leftover", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err = Reader{}.Unpack(t.Context(), reference, access, root, wanted...)
	return filesBelow(t, dir), err
}

// TestUnpack: layers on top win, what they delete does not come back, and nothing else is written.
func TestUnpack(t *testing.T) {
	image := imageOf(t,
		map[string]string{"usr/bin/program": "old", "etc/templates/a/one": "old", "etc/templates/a/two": "2", "etc/templates/gone/x": "x",
			"etc/templates/b/y": "y", "etc/templates/c": "file", "etc/passwd": "root"},
		map[string]string{"./usr/bin/program": "new", "etc/templates/a/one": "1", "etc/templates/.wh.gone": "", "etc/templates/b/.wh..wh..opq": "",
			"etc/templates/b/z": "z"},
		map[string]string{"usr/lib/.wh.other": ""})
	got, err := unpackInto(t, image, taking)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"bin/program": "new", "templates/a/one": "1", "templates/a/two": "2", "templates/b/z": "z", "templates/c": "file"}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s is %q, want %q", name, got[name], content)
		}
	}
	if _, err := unpackInto(t, image, []Taken{{From: "usr/bin/missing", To: "x"}, {From: "etc/none/", To: "y"}}); reasonOf(t, err) != ReasonNotAPayload ||
		!strings.Contains(err.Error(), "it has no usr/bin/missing, etc/none/") {
		t.Errorf("missing files: %v", err)
	}
}

// TestUnpackHostile: an image writes neither beside the directory nor anything but regular files, nor more than there is room for.
func TestUnpackHostile(t *testing.T) {
	for name, header := range map[string]tar.Header{
		"link":      {Name: "etc/templates/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"hard link": {Name: "usr/bin/program", Typeflag: tar.TypeLink, Linkname: "etc/shadow"},
		"device":    {Name: "etc/templates/null", Typeflag: tar.TypeChar},
	} {
		if _, err := unpackInto(t, over(t, rawLayer(zipped(t, tarred(t, header)))), taking); reasonOf(t, err) != ReasonNotAPayload || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := unpackInto(t, imageOf(t, map[string]string{"usr/bin/program": "p", "etc/templates/../../../../outside": "o", "etc/templates/ok": "k"}), taking)
	if err != nil || got["templates/ok"] != "k" || len(got) != 2 {
		t.Errorf("a path that leads out: %v, %v", got, err)
	}
	u := newUnpacking(taking, func(string, os.FileMode) (io.WriteCloser, error) { return discard{}, nil })
	u.left = 4
	if err := u.archive(bytes.NewReader(tarOf(t, "usr/bin/program", "12345"))); !errors.Is(err, errUnusable) {
		t.Errorf("a file over the limit: %v", err)
	}
	if err := newUnpacking(taking, u.create).archive(bytes.NewReader(sparse(t))); !errors.Is(err, errUnusable) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a file that is larger than its layer: %v", err)
	}
	full := newUnpacking(taking, func(string, os.FileMode) (io.WriteCloser, error) { return nil, fs.ErrPermission })
	var local *writeError
	if err := full.archive(bytes.NewReader(tarOf(t, "usr/bin/program", "1"))); !errors.As(err, &local) {
		t.Errorf("an error of the disk is told as one of the image: %v", err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func tarOf(t testing.TB, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sparse is a layer of a few bytes whose one file has a million.
func sparse(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	content := make([]byte, 513)
	copy(content, "1\n999999\n1\n")
	header := &tar.Header{Name: "usr/bin/program", Typeflag: tar.TypeReg, Size: int64(len(content)), Format: tar.FormatPAX, PAXRecords: map[string]string{
		"GNU_sparse.major": "1", "GNU_sparse.minor": "0", "GNU_sparse.realsize": "1000000", "GNU_sparse.name": "usr/bin/program"}}
	if err := archive.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("GNU_sparse"), []byte("GNU.sparse")) // a writer does not write such
}

// TestUnpackFromMirror: what a mirror gave that failed is not there when the source has the image.
func TestUnpackFromMirror(t *testing.T) {
	good := imageOf(t, map[string]string{"usr/bin/program": "p", "etc/templates/good": "g"})
	broken, err := mutate.AppendLayers(good, rawLayer(zipped(t, tarred(t,
		tar.Header{Name: "etc/templates/bad", Uname: "b"}, tar.Header{Name: "etc/templates/link", Typeflag: tar.TypeSymlink, Linkname: "bad"}))))
	if err != nil {
		t.Fatal(err)
	}
	reference, access := push(t, good)
	mirror := store(t, broken)
	access.Mirrors = []Mirror{{Source: Repository(reference), Mirrors: []string{Repository(mirror)}}}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := (MirroredUnpacker{Source: Reader{}}).Unpack(t.Context(), reference, access, root, taking...); err != nil {
		t.Fatal(err)
	}
	if got := filesBelow(t, dir); len(got) != 2 || got["templates/good"] != "g" {
		t.Errorf("got %v", got)
	}
}

// FuzzUnpack: whatever a layer of a payload's image says, only regular files are written, below their directory, once and in bounds.
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, "etc/templates/a", "1"), tarOf(f, "etc/templates/.wh.a", ""))
	f.Add(tarOf(f, "/etc/templates/../templates/./b", "1"), tarOf(f, "usr/bin/program", "p"))
	f.Add(tarOf(f, "etc/templates/.wh..wh..opq", ""), tarOf(f, "../../etc/templates/..", "x"))
	f.Add(sparse(f), []byte{})
	f.Fuzz(func(t *testing.T, upper, lower []byte) {
		written := map[string]int{}
		u := newUnpacking(taking, func(name string, _ os.FileMode) (io.WriteCloser, error) {
			if !filepath.IsLocal(name) || (!strings.HasPrefix(name, "templates/") && !slices.Contains([]string{"bin/program", "bin/other"}, name)) {
				t.Fatalf("it writes %q", name)
			}
			written[name]++
			return discard{}, nil
		})
		for _, layer := range [][]byte{upper, lower} {
			before := u.left
			if err := u.archive(bytes.NewReader(layer)); err != nil {
				return
			}
			if before-u.left > int64(len(layer)) {
				t.Fatalf("%d bytes of a layer with %d", before-u.left, len(layer))
			}
		}
		if len(u.taken) > len(written) {
			t.Fatalf("%d files are taken, %d are written", len(u.taken), len(written))
		}
	})
}
