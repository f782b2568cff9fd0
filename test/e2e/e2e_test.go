// Package e2e runs whole programs against the sandbox, as readable scripts. The scripts share one sandbox and run in the
// order of their names; what takes minutes is in testdata/long. `go test ./test/e2e -long -run 'TestScripts/NAME'` runs one.
package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var long = flag.Bool("long", false, "run the scripts of testdata/long too")

func TestScripts(t *testing.T) {
	if reason := cannotRun(); reason != "" {
		t.Skip(reason)
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	scripts := scriptsOfTier(t)
	own, down := comesDownClean(t, repo)
	defer down()
	testscript.RunT(serial{t}, testscript.Params{
		Files: scripts,
		Condition: func(condition string) (bool, error) {
			if condition != "own-sandbox" {
				return false, fmt.Errorf("there is no condition %q", condition)
			}
			return own, nil
		},
		Cmds: commands(repo),
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "HYPERSHIFT_CACHE", "HYPERSHIFT_SANDBOX_DIR",
				"SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY"} {
				if value, ok := os.LookupEnv(name); ok {
					env.Setenv(name, value)
				}
			}
			env.Setenv("HOME", os.Getenv("HOME"))
			env.Setenv("PATH", filepath.Join(repo, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("REPO", repo)
			env.Setenv("AZURE_PROFILE", cmp.Or(os.Getenv("AZURE_PROFILE"), "fast")) // scripts type what waits for nothing; test/phase1 and hack/rehearse.sh run with the realistic profile
			env.Setenv("CHAOS_DURATION", cmp.Or(os.Getenv("CHAOS_DURATION"), "10m"))
			env.Setenv("CHAOS_CLOCK", os.Getenv("CHAOS_CLOCK"))
			env.Setenv("AZURE_CONFIG_DIR", filepath.Join(env.WorkDir, "azure")) // nobody's session but the script's
			names := map[string]bool{}
			for _, variable := range env.Vars {
				name, _, _ := strings.Cut(variable, "=")
				names[name] = true
			}
			env.Values[namesKey{}] = names
			env.Values[readerKey{}] = &reader{base: slices.Clone(env.Vars)}
			return nil
		},
	})
}

// scriptsOfTier are the short tier's scripts, or with -long those of both tiers, by name.
func scriptsOfTier(t *testing.T) []string {
	t.Helper()
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	if *long {
		more, err := filepath.Glob("testdata/long/*.txtar")
		if err != nil || len(more) == 0 {
			t.Fatal("no scripts of the long tier", err)
		}
		scripts = append(scripts, more...)
	}
	sort.Slice(scripts, func(i, j int) bool { return filepath.Base(scripts[i]) < filepath.Base(scripts[j]) })
	return scripts
}

// comesDownClean looks at the machine before the sandbox exists, and compares once the scripts are done and it is gone. own is
// false when there is one that belongs to somebody else.
func comesDownClean(t *testing.T, repo string) (own bool, down func()) {
	if exec.Command(filepath.Join(repo, "bin/hypershift"), "sandbox", "env").Run() == nil {
		t.Log("a sandbox is up already: it is used and left alone, so what demo-down leaves is not compared")
		return false, func() {}
	}
	before := leftovers(t, repo)
	return true, func() {
		command := exec.Command(filepath.Join(repo, "hack/demo-down.sh"))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("demo-down: %v\n%s", err, out)
		}
		after := leftovers(t, repo)
		for line := range after {
			if !before[line] {
				t.Errorf("demo-down left: %s", line)
			}
		}
	}
}

func leftovers(t *testing.T, repo string) map[string]bool {
	t.Helper()
	out, err := exec.Command(filepath.Join(repo, "hack/leftovers.sh")).Output()
	if err != nil {
		t.Fatal("leftovers:", err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		lines[line] = true
	}
	return lines
}

// serial keeps the scripts from running at the same time: there is one sandbox.
type serial struct{ *testing.T }

func (s serial) Parallel() {}

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

func (s serial) Verbose() bool { return testing.Verbose() }

func cannotRun() string {
	switch {
	case runtime.GOOS != "linux":
		return "the sandbox needs Linux"
	case os.Getuid() != 0:
		return "the sandbox needs root for network namespaces and containers"
	}
	return ""
}
