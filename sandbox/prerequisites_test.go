package sandbox

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

func TestFindings(t *testing.T) {
	good := facts{goos: "linux", arch: "amd64", root: true, cgroups: true, overlay: true, dir: "/var/lib/s", need: spaceFull, free: spaceFull}
	for name, test := range map[string]struct {
		change func(*facts)
		want   []string // one for each finding: a part of it
	}{
		"nothing is missing":     {func(*facts) {}, nil},
		"not Linux, and no more": {func(f *facts) { f.goos, f.root, f.free = "darwin", false, 0 }, []string{"it needs Linux, and this is darwin"}},
		"another sandbox":        {func(f *facts) { f.other, f.busy = "/srv/other", []string{"x"} }, []string{"hypershift sandbox down --dir /srv/other"}},
		"not root":               {func(f *facts) { f.root = false }, []string{"it needs root"}},
		"not root, Azure only":   {func(f *facts) { f.azureOnly, f.root, f.overlay, f.compile = true, false, false, true }, nil},
		"architecture":           {func(f *facts) { f.arch = "arm64" }, []string{"built for amd64, and this is arm64"}},
		"no cgroups, no overlay": {func(f *facts) { f.cgroups, f.overlay = false, false }, []string{"no cgroups", "no overlay file system"}},
		"no Go":                  {func(f *facts) { f.compile = true }, []string{"there is no go command in PATH"}},
		"Go is too old":          {func(f *facts) { f.compile, f.goVersion = true, "go version go1.25.3 linux/amd64" }, []string{"Go 1.26 or later, and this is Go 1.25"}},
		"Go is new enough":       {func(f *facts) { f.compile, f.goVersion = true, "go version go1.26.0 linux/amd64" }, nil},
		"Go of tomorrow":         {func(f *facts) { f.compile, f.goVersion = true, "go version devel linux/amd64" }, nil},
		"nothing to compile":     {func(f *facts) { f.goVersion = "go version go1.1 linux/amd64" }, nil},
		"disk full":              {func(f *facts) { f.free = 1 << 29 }, []string{"/var/lib/s is on a disk with 0.5 GB free, and 6.0 GB are needed"}},
		"ports":                  {func(f *facts) { f.azureOnly, f.busy = true, []string{"a is taken", "b is taken"} }, []string{"a is taken", "b is taken"}},
		"several":                {func(f *facts) { f.root, f.free, f.busy = false, 0, []string{"a is taken"} }, []string{"root", "0.0 GB free", "a is taken"}},
	} {
		f := good
		test.change(&f)
		got := f.findings()
		if len(got) != len(test.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, want := range test.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q does not say %q", name, got[i], want)
			}
		}
	}
}

func TestPrerequisiteErrorIsOneLine(t *testing.T) {
	text := (&PrerequisiteError{[]string{"a", "b"}}).Error()
	if strings.Contains(text, "\n") || !strings.HasSuffix(text, "nothing was changed: a; b") {
		t.Errorf("%q", text)
	}
}

func TestGather(t *testing.T) {
	f := gather(cluster.Config{Dir: t.TempDir() + "/not/yet", Bin: t.TempDir()}, false, supervise.State{})
	if f.goos != "linux" || f.free == 0 || !f.compile || !strings.Contains(f.goVersion, "go1.") {
		t.Errorf("%+v", f)
	}
}
