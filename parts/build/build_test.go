package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

const tinyMain = `package main

import "fmt"

var version = "unset"

func main() { fmt.Println("tiny", version) }
`

func tinyFS() fstest.MapFS {
	return fstest.MapFS{
		"tiny/go.mod.in":        {Data: []byte("module example.test/tiny\n\ngo 1.24\n")},
		"tiny/go.sum.in":        {Data: nil},
		"tiny/hello/main.go.in": {Data: []byte(tinyMain)},
		"tiny/other/main.go.in": {Data: []byte("package main\n\nfunc main() {}\n")},
	}
}

func tinyPrograms() []Program {
	return []Program{
		{Name: "hello", Module: "tiny", Package: "./hello", LDFlags: set("main.version", "v7"), Aliases: []string{"hi"}},
		{Name: "other", Module: "tiny", Package: "./other"},
	}
}

func tinyBuilder(t *testing.T, fsys fs.FS, progress func(Event)) *builder {
	t.Helper()
	b := newBuilder(t.TempDir(), Host(), progress)
	b.fsys, b.programs = fsys, tinyPrograms()
	return b
}

// record collects events.
type record struct{ events []Event }

func (r *record) add(e Event) { r.events = append(r.events, e) }

// states are those of a program, repetitions left out.
func (r *record) states(program string) []string {
	var out []string
	for _, e := range r.events {
		if e.Program == program {
			out = append(out, e.State)
		}
	}
	return slices.Compact(out)
}

func TestBuildOnceThenCached(t *testing.T) {
	var first record
	fsys := tinyFS() // with a source that no build cache knows
	fsys["tiny/hello/main.go.in"].Data = fmt.Appendf(nil, "%s\n// %d\nvar stamp = %[2]d\n", tinyMain, time.Now().UnixNano())
	b := tinyBuilder(t, fsys, first.add)
	bin, err := b.build(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hello", "hi"} {
		out, err := run(t.Context(), "", nil, filepath.Join(bin, name))
		if err != nil || out != "tiny v7\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if got, want := first.states("hello"), []string{Waiting, Compiling, Linking, Done}; !slices.Equal(got, want) {
		t.Errorf("states of hello: %v, want %v", got, want)
	}
	last := first.events[len(first.events)-1]
	if last.Done != last.Total || last.Total == 0 {
		t.Errorf("ends with %d of %d", last.Done, last.Total)
	}

	var second record
	again := newBuilder(b.cache, Host(), second.add)
	again.fsys, again.programs, again.goCommand = b.fsys, b.programs, "/nonexistent/go"
	again.tally = newTally(second.add, time.Now)
	if got, err := again.build(t.Context(), nil); err != nil || got != bin {
		t.Errorf("second build: %s, %v", got, err)
	}
	if got := second.states("hello"); !slices.Equal(got, []string{Cached}) {
		t.Errorf("states of the second build: %v", got)
	}
}

func TestBuildKeepsWhatDidNotChange(t *testing.T) {
	var r record
	b := tinyBuilder(t, tinyFS(), nil)
	if _, err := b.build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	changed := tinyFS()
	changed["tiny/other/main.go.in"] = &fstest.MapFile{Data: []byte("package main\n\nfunc main() { println() }\n")}
	next := newBuilder(b.cache, Host(), nil)
	next.fsys, next.programs, next.tally = changed, b.programs, newTally(r.add, time.Now)
	if _, err := next.build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := r.states("hello"); !slices.Equal(got, []string{Cached}) {
		t.Errorf("hello: %v", got)
	}
	if got := r.states("other"); !slices.Contains(got, Done) {
		t.Errorf("other: %v", got)
	}
}

func TestBuildByNameAndAlias(t *testing.T) {
	b := tinyBuilder(t, tinyFS(), nil)
	bin, err := b.build(t.Context(), []string{"hi"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "other")); err == nil {
		t.Error("other was built too")
	}
	if _, err := b.build(t.Context(), []string{"nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("unknown name: %v", err)
	}
}

func TestTwoAtOnceBuildOnce(t *testing.T) {
	cache := t.TempDir()
	var wg sync.WaitGroup
	var records [2]record
	for i := range records {
		wg.Go(func() {
			b := newBuilder(cache, Host(), nil)
			b.fsys, b.programs, b.tally = tinyFS(), tinyPrograms(), newTally(records[i].add, time.Now)
			if _, err := b.build(context.Background(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	built := 0
	for _, r := range records {
		if slices.Contains(r.states("hello"), Done) {
			built++
		}
	}
	if built != 1 {
		t.Errorf("built %d times", built)
	}
}

func TestFailureNamesPartAndOutput(t *testing.T) {
	broken := tinyFS()
	broken["tiny/hello/main.go.in"] = &fstest.MapFile{Data: []byte("package main\n\nfunc main() { undefinedName() }\n")}
	var r record
	b := tinyBuilder(t, broken, r.add)
	_, err := b.build(t.Context(), []string{"hello"})
	var failure *Error
	if !errors.As(err, &failure) || failure.Part != "hello" || !strings.Contains(err.Error(), "undefined: undefinedName") {
		t.Fatalf("error: %v", err)
	}
	if !slices.Contains(r.states("hello"), Failed) {
		t.Errorf("states: %v", r.states("hello"))
	}
}

func TestUnreachableProxyIsRecognised(t *testing.T) {
	offline := tinyFS()
	offline["tiny/go.mod.in"] = &fstest.MapFile{Data: []byte("module example.test/tiny\n\ngo 1.24\n\nrequire example.test/absent v1.0.0\n")}
	offline["tiny/go.sum.in"] = &fstest.MapFile{Data: []byte("example.test/absent v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nexample.test/absent v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n")}
	offline["tiny/hello/main.go.in"] = &fstest.MapFile{Data: []byte("package main\n\nimport _ \"example.test/absent\"\n\nfunc main() {}\n")}
	t.Setenv("GOPROXY", "http://127.0.0.1:1")
	t.Setenv("GOMODCACHE", t.TempDir())
	_, err := tinyBuilder(t, offline, nil).build(t.Context(), []string{"hello"})
	if err == nil || !strings.Contains(err.Error(), "module proxy cannot be reached") {
		t.Errorf("error: %v", err)
	}
}

func TestCauses(t *testing.T) {
	for output, want := range map[string]string{
		"write /tmp/x: no space left on device":                                                 "disk is full",
		"go: go.mod requires go >= 1.25.0 (running go 1.22.1; GOTOOLCHAIN=local)":               "too old",
		"verifying example.test/m@v1.0.0: checksum mismatch":                                    "differs from",
		"example.test/m@v1.0.0: reading http://h/m/@v/v1.0.0.zip: 403 Forbidden":                "proxy cannot",
		"Get \"http://h/m\": dial tcp: lookup h: no such host":                                  "proxy cannot",
		"module lookup disabled by GOPROXY=off":                                                 "proxy cannot",
		"./main.go:3:15: undefined: x":                                                          "",
		"vendor/x.go:500:12: cannot use 4 (untyped int constant) as string value in assignment": "",
	} {
		var failure *Error
		if !errors.As(explain(t.Context(), "m", "p", tail{output}, errors.New("exit status 1")), &failure) {
			t.Fatal("not an Error")
		}
		if want == "" && failure.Cause != "" || !strings.Contains(failure.Cause, want) {
			t.Errorf("%s: %q, want %q", output, failure.Cause, want)
		}
	}
}

func TestSpaceIsCheckedFirst(t *testing.T) {
	b := tinyBuilder(t, tinyFS(), nil)
	b.free = func(string) (uint64, error) { return 1 << 20, nil }
	if _, err := b.build(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "disk space") {
		t.Errorf("error: %v", err)
	}
	b.free = func(string) (uint64, error) { return 3 << 30, nil }
	if _, err := b.build(t.Context(), nil); err != nil {
		t.Errorf("enough for what is needed, but: %v", err)
	}
	if free, err := freeBytes(filepath.Join(t.TempDir(), "not", "there")); err != nil || free == 0 {
		t.Errorf("free: %d, %v", free, err)
	}
}

func TestCancelledBuildSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tinyBuilder(t, tinyFS(), nil).build(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

// TestModuleDir: images take files from the source that programs were built of.
func TestModuleDir(t *testing.T) {
	b := tinyBuilder(t, tinyFS(), nil)
	dir, err := b.moduleDir(t.Context(), "tiny", "example.test/tiny")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "hello", "main.go")); err != nil {
		t.Error(err)
	}
	if _, err := b.moduleDir(t.Context(), "tiny", "example.test/other"); err == nil {
		t.Error("a module that the build does not know has a source")
	}
}
