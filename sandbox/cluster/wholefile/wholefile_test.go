package wholefile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A process reads its configuration again when the file is another one: what does not change must not look changed.
func TestWriteIfChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "of", "file")
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, c := range []struct {
		text    string
		written bool
	}{
		{"first", true}, {"first", false}, {"second", true}, {"", true}, {"", false}, {"second and more", true}, {"second", true},
	} {
		if _, err := os.Stat(path); err == nil {
			must(t, os.Chtimes(path, long, long))
		}
		must(t, WriteIfChanged(path, []byte(c.text), 0o600))
		info, err := os.Stat(path)
		must(t, err)
		if got, _ := os.ReadFile(path); string(got) != c.text || info.Mode() != 0o600 {
			t.Errorf("%q became %q, mode %v", c.text, got, info.Mode())
		}
		if written := !info.ModTime().Equal(long); written != c.written {
			t.Errorf("%q: written %v, want %v", c.text, written, c.written)
		}
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) != 0 {
		t.Errorf("left beside the file: %v", left)
	}
}

// Who reads meanwhile finds the former text or the new one, and who has the former file open goes on reading it.
func TestReadersSeeAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	must(t, WriteIfChanged(path, []byte(texts[0]), 0o644))
	open, err := os.Open(path)
	must(t, err)
	defer open.Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != texts[0] && string(got) != texts[1] {
				t.Errorf("read %d bytes, %v", len(got), err)
				return
			}
		}
	})
	for i := range 200 {
		must(t, WriteIfChanged(path, []byte(texts[(i+1)%2]), 0o644))
	}
	close(done)
	wg.Wait()
	former := make([]byte, 1<<17)
	if n, _ := open.Read(former); string(former[:n]) != texts[0] {
		t.Errorf("the former file has %d bytes, beginning with %.1s", n, former)
	}
}

// What a crash left beside the file has neither its content nor its mode: a secret is not readable for all because something else was.
func TestLeftovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path+".new", []byte("a longer text of another time"), 0o644))
	must(t, WriteIfChanged(path, []byte("secret"), 0o600))
	info, err := os.Stat(path)
	must(t, err)
	if got, _ := os.ReadFile(path); string(got) != "secret" || info.Mode() != 0o600 {
		t.Errorf("%q, mode %v", got, info.Mode())
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if err := WriteIfChanged(filepath.Join(dir, "file", "below"), []byte("x"), 0o600); err == nil {
		t.Error("a file is taken for a folder")
	}
	must(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err := WriteIfChanged(filepath.Join(dir, "folder"), []byte("x"), 0o600); err == nil {
		t.Error("a folder is replaced by a file")
	}
	if _, err := EnsureSecret(filepath.Join(dir, "folder")); err == nil {
		t.Error("a folder is a secret")
	}
}

func TestEnsureSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets", "one")
	first, err := EnsureSecret(path)
	must(t, err)
	if len(first) != 48 || strings.Trim(first, "0123456789abcdef") != "" {
		t.Errorf("%d characters, which are not all digits", len(first))
	}
	again, err := EnsureSecret(path)
	must(t, err)
	other, err := EnsureSecret(path + "-other")
	must(t, err)
	if again != first || other == first {
		t.Error("a secret changes, or two are one")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
