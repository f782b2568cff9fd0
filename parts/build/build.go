// Package build compiles parts: third-party programs whose source comes from
// the Go module proxy, for the machine it runs on or another architecture.
// Binaries are kept in a cache by the content of what they are made from, so
// that nothing is built twice.
//
// Layout of the cache:
//
//	src/<module>-<hash>/       unpacked modules
//	parts/store/<key>/<name>   one directory for each binary
//	parts/<hash>/bin/<name>    links to this machine's binaries that belong together
//	targets/<hash>/bin/<name>  the same for other architectures and versions
//	debian/<hash>/             files of Debian packages
package build

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/parts"
)

// States of a program in an Event.
const (
	Waiting   = "waiting"
	Compiling = "compiling"
	Linking   = "linking"
	Done      = "done"
	Cached    = "cached"
	Failed    = "failed"
)

// An Event tells how far a build is. Total counts the Go packages of all
// requested programs that still had to be built when the work began, Done
// those that are finished, so that the two can be shown as one bar.
type Event struct {
	Program     string // "" for the build as a whole
	State       string
	Done, Total int
	Elapsed     time.Duration
	Detail      string // package being compiled, module being fetched, cause of a wait
}

// DefaultCache is $HYPERSHIFT_CACHE, or a directory in the user's cache.
func DefaultCache() string {
	if dir := os.Getenv("HYPERSHIFT_CACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil { // neither XDG_CACHE_HOME nor HOME
		dir = os.TempDir()
	}
	return filepath.Join(dir, "hypershift-sandbox")
}

// Target is what programs are built for. All of them are for Linux.
type Target struct {
	Kubernetes string // version of Kubernetes, one of KubernetesVersions
	Arch       string // amd64 or arm64, as Go and OCI name them
}

// Host is the target of the sandbox: this machine.
func Host() Target { return Target{Kubernetes: KubernetesVersion, Arch: runtime.GOARCH} }

// Dir returns the directory where Build puts the binaries, built or not.
func (t Target) Dir(cache string) string {
	b := newBuilder(cache, t, nil)
	dir, err := b.binDir()
	if err != nil { // the embedded files are incomplete: a test catches this
		panic(err)
	}
	return dir
}

// Build builds what is missing of the named programs (nil means all; an alias
// such as kubelet stands for its binary) and returns the directory of the
// binaries. Several processes may call it at once: one builds, the others
// wait. Calls of progress, which may be nil, do not overlap.
func (t Target) Build(ctx context.Context, cache string, names []string, progress func(Event)) (string, error) {
	return newBuilder(cache, t, progress).build(ctx, names)
}

// builder is one call of Build. Tests give it a module and programs of their own.
type builder struct {
	cache     string
	fsys      fs.FS
	programs  []Program
	goCommand string
	goVersion string
	arch      string
	sets      string // directory of the cache with sets of binaries; who looks for programs to run looks into "parts"
	free      func(dir string) (uint64, error)
	now       func() time.Time
	tally     *tally
}

func newBuilder(cache string, target Target, progress func(Event)) *builder {
	if absolute, err := filepath.Abs(cache); err == nil {
		cache = absolute
	}
	b := &builder{cache: cache, fsys: parts.FS, programs: target.Programs(), goCommand: "go", goVersion: goVersion(), arch: target.Arch,
		free: freeBytes, now: time.Now}
	b.sets = "targets"
	if target == Host() {
		b.sets = "parts"
	}
	b.tally = newTally(progress, b.now)
	return b
}

// goVersion is the version of the go command, which need not be the one this
// program was compiled with.
var goVersion = sync.OnceValue(func() string {
	command := exec.Command("go", "env", "GOVERSION")
	command.Env = goEnv(os.Environ(), runtime.GOARCH)
	command.Dir = os.TempDir()
	out, err := command.Output()
	if err != nil {
		return runtime.Version()
	}
	return strings.TrimSpace(string(out))
})

func (b *builder) binDir() (string, error) {
	hash, err := setHash(b.fsys, b.programs, b.goVersion, b.arch)
	return filepath.Join(b.cache, b.sets, hash, "bin"), err
}

// storePath is where a program's binary is kept.
func (b *builder) storePath(p Program) (string, error) {
	key, err := programKey(b.fsys, p, b.goVersion, b.arch)
	return filepath.Join(b.cache, "parts", "store", key, p.Name), err
}

func (b *builder) build(ctx context.Context, names []string) (string, error) {
	selected, err := b.choose(names)
	if err != nil {
		return "", err
	}
	bin, err := b.binDir()
	if err != nil {
		return "", err
	}
	missing, err := b.missing(selected)
	if err != nil {
		return "", err
	}
	if len(missing) > 0 || !b.linked(bin, selected) {
		if err := b.buildLocked(ctx, bin, selected); err != nil {
			return "", err
		}
		return bin, nil
	}
	for _, p := range selected {
		b.tally.state(p.Name, Cached, "")
	}
	return bin, nil
}

// buildLocked holds the lock of the cache while it builds.
func (b *builder) buildLocked(ctx context.Context, bin string, selected []Program) error {
	unlock, err := lock(ctx, filepath.Join(b.cache, "parts", "lock"), func() {
		b.tally.waits("another process is building into " + b.cache)
	})
	if err != nil {
		return err
	}
	defer unlock()
	missing, err := b.missing(selected) // another process may have built them meanwhile
	if err != nil {
		return err
	}
	for _, p := range selected {
		if !slices.ContainsFunc(missing, func(m Program) bool { return m.Name == p.Name }) {
			b.tally.state(p.Name, Cached, "")
		}
	}
	if len(missing) > 0 {
		if err := b.compile(ctx, missing); err != nil {
			return err
		}
	}
	return b.link(bin)
}

// choose returns the programs of the given names or aliases, in build order.
func (b *builder) choose(names []string) ([]Program, error) {
	if names == nil {
		return b.programs, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		i := slices.IndexFunc(b.programs, func(p Program) bool { return p.Name == name || slices.Contains(p.Aliases, name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q", name)
		}
		wanted[b.programs[i].Name] = true
	}
	var chosen []Program
	for _, p := range b.programs {
		if wanted[p.Name] {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// missing returns those programs whose binary is not in the store.
func (b *builder) missing(programs []Program) ([]Program, error) {
	var out []Program
	for _, p := range programs {
		path, err := b.storePath(p)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// linked tells whether the programs and their aliases are all in bin.
func (b *builder) linked(bin string, programs []Program) bool {
	for _, p := range programs {
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
				return false
			}
		}
	}
	return true
}

// link puts everything that is in the store into bin.
func (b *builder) link(bin string) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, p := range b.programs {
		stored, err := b.storePath(p)
		if err != nil {
			return err
		}
		if err := linkProgram(bin, stored, p); err != nil {
			return fmt.Errorf("part %s: %w", p.Name, err)
		}
	}
	return nil
}

// linkProgram makes a hard link, so that the file may be copied or mounted
// alone, and a symbolic one for each alias.
func linkProgram(bin, stored string, p Program) error {
	source, err := os.Stat(stored)
	if err != nil {
		return nil // not built, and not asked for
	}
	target := filepath.Join(bin, p.Name)
	if present, err := os.Stat(target); err != nil || !os.SameFile(source, present) {
		if err := replace(target, func(name string) error { return os.Link(stored, name) }); err != nil {
			return err
		}
	}
	for _, alias := range p.Aliases {
		if err := replace(filepath.Join(bin, alias), func(name string) error { return os.Symlink(p.Name, name) }); err != nil {
			return err
		}
	}
	return nil
}

// replace makes a link under another name and moves it over the target: there
// is no moment without a file.
func replace(target string, make func(name string) error) error {
	temporary := target + ".new"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := make(temporary); err != nil {
		return err
	}
	return os.Rename(temporary, target)
}
