package build

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hypershift-on-azure/hypershift/parts"
)

func TestUnpackTakesTheSuffixOff(t *testing.T) {
	cache := t.TempDir()
	dir, err := unpack(tinyFS(), "tiny", nil, cache)
	if err != nil {
		t.Fatal(err)
	}
	if base := filepath.Base(dir); !strings.HasPrefix(base, "tiny-") || filepath.Dir(dir) != filepath.Join(cache, "src") {
		t.Errorf("directory %s", dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hello", "main.go"))
	if err != nil || string(text) != tinyMain {
		t.Errorf("main.go: %q, %v", text, err)
	}
	if again, err := unpack(tinyFS(), "tiny", nil, cache); err != nil || again != dir {
		t.Errorf("again: %s, %v", again, err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "src", ".unpack-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := unpack(fstest.MapFS{"m/main.go": {}}, "m", nil, cache); err == nil {
		t.Error("a file without the suffix was accepted")
	}
}

func TestKeysFollowTheInputs(t *testing.T) {
	p := tinyPrograms()[0]
	key := func(change func(fstest.MapFS, *Program), version string) string {
		fsys, q := tinyFS(), p
		if change != nil {
			change(fsys, &q)
		}
		k, err := programKey(fsys, q, version, "amd64")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	base := key(nil, "go1.26.0")
	if key(nil, "go1.26.0") != base {
		t.Error("not stable")
	}
	file := func(name string) func(fstest.MapFS, *Program) {
		return func(m fstest.MapFS, _ *Program) { m[name] = &fstest.MapFile{Data: []byte("changed")} }
	}
	changes := map[string]string{
		"go version": key(nil, "go1.26.1"),
		"go.mod":     key(file("tiny/go.mod.in"), "go1.26.0"),
		"go.sum":     key(file("tiny/go.sum.in"), "go1.26.0"),
		"main":       key(file("tiny/hello/main.go.in"), "go1.26.0"),
		"new file":   key(file("tiny/hello/more.go.in"), "go1.26.0"),
		"ldflags":    key(func(_ fstest.MapFS, q *Program) { q.LDFlags = nil }, "go1.26.0"),
		"tags":       key(func(_ fstest.MapFS, q *Program) { q.Tags = []string{"x"} }, "go1.26.0"),
	}
	for what, k := range changes {
		if k == base {
			t.Errorf("%s does not change the key", what)
		}
	}
	replaced := func(library string) string {
		return key(func(m fstest.MapFS, _ *Program) {
			m["tiny/go.mod.in"] = &fstest.MapFile{Data: []byte("module tiny\n\nreplace example.com/library => ./library\n")}
			m["tiny/library/library.go.in"] = &fstest.MapFile{Data: []byte(library)}
		}, "go1.26.0")
	}
	if replaced("package library") == replaced("package library // changed") {
		t.Error("what a module is replaced with does not change the key")
	}
	if key(file("tiny/other/main.go.in"), "go1.26.0") != base {
		t.Error("another program's source changes the key")
	}
}

// TestProgramsAndPartsAgree keeps the list and the embedded modules together.
func TestProgramsAndPartsAgree(t *testing.T) {
	names := map[string]bool{}
	local := map[string]bool{}
	for _, p := range slices.Concat(Host().Programs(), conformancePrograms()) {
		if p.Version == "" {
			t.Errorf("%s has no version", p.Name)
		}
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if names[name] {
				t.Errorf("%s is there twice", name)
			}
			names[name] = true
		}
		mod, err := fs.ReadFile(parts.FS, path.Join(p.Module, "go.mod"+parts.Suffix))
		if err != nil {
			t.Fatal(err)
		}
		if dir, ok := strings.CutPrefix(p.Package, "./"); ok {
			local[path.Join(p.Module, dir)] = true
			if _, err := fs.Stat(parts.FS, path.Join(p.Module, dir, "main.go"+parts.Suffix)); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		} else if !strings.Contains(string(mod), "\t"+p.Package+"\n") {
			t.Errorf("%s is not a tool of go.mod, so go.sum may lack its packages", p.Package)
		}
	}
	modules, err := fs.ReadDir(parts.FS, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range modules {
		entries, err := fs.ReadDir(parts.FS, module.Name())
		if err != nil {
			t.Fatal(err)
		}
		stands, err := replacements(parts.FS, module.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range stands {
			local[dir] = true
		}
		for _, e := range entries {
			if e.IsDir() && !local[path.Join(module.Name(), e.Name())] {
				t.Errorf("%s/%s is no program", module.Name(), e.Name())
			}
		}
	}
}

// TestEveryKubernetesHasItsModule: the program of another Kubernetes is built from the same source with that version's libraries, and
// nothing else is built again.
func TestEveryKubernetesHasItsModule(t *testing.T) {
	own := map[string]string{}
	for _, p := range Host().Programs() {
		key, err := programKey(parts.FS, p, "go1.26.0", "amd64")
		if err != nil {
			t.Fatal(err)
		}
		own[p.Name] = key
	}
	for _, version := range KubernetesVersions()[1:] {
		for _, p := range (Target{Kubernetes: version, Arch: "amd64"}).Programs() {
			key, err := programKey(parts.FS, p, "go1.26.0", "amd64")
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != "kube" {
				if key != own[p.Name] {
					t.Errorf("%s is built again for Kubernetes %s", p.Name, version)
				}
				continue
			}
			mod, err := fs.ReadFile(parts.FS, path.Join(p.Module, "go.mod"+parts.Suffix))
			if err != nil {
				t.Fatal(err)
			}
			if p.Version != version || !strings.Contains(string(mod), "k8s.io/kubernetes => k8s.io/kubernetes "+version+"\n") || key == own["kube"] {
				t.Errorf("kube of %s is %s of module %s", version, p.Version, p.Module)
			}
			dir, err := unpack(parts.FS, p.Module, borrowedBy(p.Module, []Program{p}), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, p.Package, "main.go")); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestOtherArchitecture: what is built for another architecture lies elsewhere.
func TestOtherArchitecture(t *testing.T) {
	amd, arm := Target{KubernetesVersion, "amd64"}, Target{KubernetesVersion, "arm64"}
	cache := t.TempDir()
	if amd.Dir(cache) == arm.Dir(cache) {
		t.Error("both architectures have one directory")
	}
	// Tests run whatever lies below parts.
	for _, target := range []Target{{KubernetesVersion, "s390x"}, {KubernetesVersions()[1], "amd64"}} {
		if strings.HasPrefix(target.Dir(cache), filepath.Join(cache, "parts")) {
			t.Errorf("programs of %v lie where those of this machine do", target)
		}
	}
	var keys [2]string
	for i, arch := range []string{"amd64", "arm64"} {
		var err error
		if keys[i], err = programKey(tinyFS(), tinyPrograms()[0], "go1.26.0", arch); err != nil {
			t.Fatal(err)
		}
	}
	if keys[0] == keys[1] {
		t.Error("both architectures have one binary")
	}
}

// TestSumsAreComplete finds a requirement without its checksum.
func TestSumsAreComplete(t *testing.T) {
	for _, module := range []string{module134, "kube1343", "kube135", moduleExternalDNS, moduleWebhook, moduleSkipper} {
		t.Run(module, func(t *testing.T) { sumsAreComplete(t, module) })
	}
}

func sumsAreComplete(t *testing.T, module string) {
	mod, err := fs.ReadFile(parts.FS, module+"/go.mod"+parts.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := fs.ReadFile(parts.FS, module+"/go.sum"+parts.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	local := map[string]bool{}
	required := map[string]string{}
	for line := range strings.Lines(string(mod)) {
		line, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "replace ")), " //")
		switch f := strings.Fields(line); {
		case len(f) == 3 && f[1] == "=>": // by a directory, which has no checksum
			local[f[0]] = true
		case len(f) == 4 && f[1] == "=>":
			replaced[f[0]] = f[2] + " " + f[3]
		case len(f) == 2 && strings.HasPrefix(f[1], "v") && strings.Contains(f[0], "/"):
			if !strings.Contains(f[0], "tencentcloud") {
				required[f[0]] = f[0] + " " + f[1]
			}
		}
	}
	if len(required) < 50 {
		t.Fatalf("only %d requirements were read", len(required))
	}
	for p, want := range required {
		if local[p] {
			continue
		}
		if r := replaced[p]; r != "" {
			want = r
		}
		if !strings.Contains(string(sum), "\n"+want+"/go.mod h1:") && !strings.HasPrefix(string(sum), want+"/go.mod h1:") {
			t.Errorf("go.sum lacks %s", want)
		}
	}
}

func TestDirIsStableAndInTheCache(t *testing.T) {
	cache := t.TempDir()
	if d := Host().Dir(cache); d != Host().Dir(cache) || !strings.HasPrefix(d, cache) || filepath.Base(d) != "bin" {
		t.Errorf("Dir: %s", d)
	}
	t.Setenv("HYPERSHIFT_CACHE", "/somewhere")
	if DefaultCache() != "/somewhere" {
		t.Error("HYPERSHIFT_CACHE is not used")
	}
}

func TestTallyCountsSharedPackagesOnce(t *testing.T) {
	now := time.Unix(0, 0)
	var r record
	y := newTally(r.add, func() time.Time { return now })
	graph := strings.Join([]string{
		"fmt\t\t", "a/x\tstale dependency: y\tfmt", "a/y\tbuild ID mismatch\t",
		"m/one\tnot built\tfmt a/x a/y", "m/two\tnot built\tfmt a/y",
	}, "\n")
	y.plan(parseGraph(graph, map[string]string{"m/one": "one", "m/two": "two"}))
	now = now.Add(time.Minute)
	if y.compiling("one", "a/x") {
		t.Error("a/x taken for the main package")
	}
	y.compiling("one", "# a message")
	if !y.compiling("one", "m/one") {
		t.Error("the main package was not seen")
	}
	y.state("one", Done, "")
	y.state("two", Done, "")
	want := []Event{
		{"one", Compiling, 1, 4, time.Minute, "a/x"},
		{"one", Linking, 2, 4, time.Minute, "m/one"},
		{"one", Done, 3, 4, time.Minute, ""}, // a/y was in the cache by then
		{"two", Done, 4, 4, time.Minute, ""},
	}
	if !slices.Equal(r.events, want) {
		t.Errorf("events:\n%v\nwant\n%v", r.events, want)
	}
}

func TestLinesAndTail(t *testing.T) {
	var lines []string
	w := &lineWriter{line: func(s string) { lines = append(lines, s) }}
	for _, chunk := range []string{"example.test/pk", "g\n# example.test/pkg\r\nx.go:1: bad", " thing"} {
		_, _ = w.Write([]byte(chunk))
	}
	w.flush()
	if want := []string{"example.test/pkg", "# example.test/pkg", "x.go:1: bad thing"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q", lines)
	}
	if want := (tail{"# example.test/pkg", "x.go:1: bad thing"}); !slices.Equal(w.tail, want) {
		t.Errorf("tail %q", w.tail)
	}
	for range 100 {
		w.emit("an error")
	}
	if len(w.tail) != tailLines {
		t.Errorf("tail of %d lines", len(w.tail))
	}
}

func TestEnvironmentIsFixedWhereItMatters(t *testing.T) {
	env := goEnv([]string{"GOFLAGS=-mod=vendor", "GOCACHE=/c", "GOPROXY=p", "GOSUMDB=s", "CGO_ENABLED=1"}, "arm64")
	for _, want := range []string{"GOFLAGS=-mod=readonly", "GOCACHE=/c", "GOPROXY=p", "GOSUMDB=s", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %v", want, env)
		}
	}
	if slices.Contains(env, "GOFLAGS=-mod=vendor") || slices.Contains(env, "CGO_ENABLED=1") {
		t.Errorf("user's value kept: %v", env)
	}
}
