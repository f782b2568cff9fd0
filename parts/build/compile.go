package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/parts"
)

// inFlight is how many programs are worked on at once. Compiling uses every
// core for one program; linking uses one core, and the next program compiles
// meanwhile.
const inFlight = 2

// compile builds the programs, which all are missing, into the store.
func (b *builder) compile(ctx context.Context, programs []Program) error {
	for _, p := range programs {
		b.tally.state(p.Name, Waiting, "")
	}
	if err := b.checkGo(programs); err != nil {
		return err
	}
	if err := b.checkSpace(programs, -1); err != nil {
		return err
	}
	dirs := map[string]string{}
	for _, p := range programs {
		if dirs[p.Module] != "" {
			continue
		}
		dir, err := unpack(b.fsys, p.Module, borrowedBy(p.Module, b.programs), b.cache)
		if err != nil {
			return err
		}
		dirs[p.Module] = dir
		if err := b.plan(ctx, dir, p.Module, programs); err != nil {
			return err
		}
	}
	if err := b.checkSpace(programs, b.tally.left()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	turn := make(chan struct{}, 1) // held while a program compiles
	for _, p := range programs {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return group.Wait()
		}
		group.Go(func() error {
			release := sync.OnceFunc(func() { <-turn })
			defer release()
			return b.one(ctx, dirs[p.Module], p, release)
		})
	}
	return group.Wait()
}

func (b *builder) checkGo(programs []Program) error {
	if _, err := exec.LookPath(b.goCommand); err != nil {
		return fmt.Errorf("parts %s have to be compiled and there is no go command on PATH: install Go (go.dev/dl), version 1.25 or later: %w", nameList(programs), err)
	}
	return nil
}

func nameList(programs []Program) string {
	var names []string
	for _, p := range programs {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// plan fetches the modules and learns which packages each program needs. It
// is the only step that uses the network.
func (b *builder) plan(ctx context.Context, dir, module string, programs []Program) error {
	b.tally.waits("resolving the modules of " + module)
	path, err := b.modulePath(module)
	if err != nil {
		return err
	}
	args := append([]string{"list", "-deps", "-f", planFormat}, buildFlags...)
	roots := map[string]string{} // import path of a main package: program
	for _, p := range programs {
		if p.Module != module {
			continue
		}
		args = append(args, p.Package)
		root := p.Package
		if local, ok := strings.CutPrefix(root, "./"); ok {
			root = path + "/" + local
		}
		roots[root] = p.Name
	}
	var graph strings.Builder
	out, err := b.goRun(ctx, dir, args, &graph, func(line string) {
		if fetched, ok := strings.CutPrefix(line, "go: downloading "); ok {
			b.tally.waits("downloading " + fetched)
		}
	})
	if err != nil {
		return explain(ctx, module, nameList(programs), out, err)
	}
	b.tally.plan(parseGraph(graph.String(), roots))
	return nil
}

// modulePath is the path that go.mod declares.
func (b *builder) modulePath(module string) (string, error) {
	text, err := fs.ReadFile(b.fsys, module+"/go.mod"+parts.Suffix)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("go.mod of %s declares no module", module)
}

// planFormat prints a package, why it would be built and what it imports,
// directly or not.
const planFormat = `{{.ImportPath}}{{"\t"}}{{.StaleReason}}{{"\t"}}{{join .Deps " "}}`

// parseGraph reads plan's listing: for each program its packages that are not
// compiled yet, the main package last.
func parseGraph(listing string, roots map[string]string) map[string][]string {
	compiled := map[string]bool{"unsafe": true, "C": true}
	deps := map[string][]string{}
	for line := range strings.Lines(listing) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			continue
		}
		path, reason := fields[0], fields[1]
		if reason == "" || strings.Contains(reason, "available in build cache") {
			compiled[path] = true
		}
		if roots[path] != "" {
			deps[path] = strings.Fields(fields[2])
		}
	}
	out := map[string][]string{}
	for path, name := range roots {
		for _, p := range append(deps[path], path) {
			if !compiled[p] {
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

// one compiles and links a program. compiled is called when only linking is left.
func (b *builder) one(ctx context.Context, dir string, p Program, compiled func()) error {
	stored, err := b.storePath(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(stored), 0o755); err != nil {
		return err
	}
	temporary := stored + ".new"
	defer os.Remove(temporary)
	args := append([]string{"build", "-v"}, buildFlags...)
	args = append(args, "-o", temporary, "-ldflags", strings.Join(append([]string{"-s", "-w"}, p.LDFlags...), " "))
	if len(p.Tags) > 0 {
		args = append(args, "-tags", strings.Join(p.Tags, ","))
	}
	b.tally.state(p.Name, Compiling, "")
	out, err := b.goRun(ctx, dir, append(args, p.Package), nil, func(line string) {
		if b.tally.compiling(p.Name, line) {
			compiled()
		}
	})
	if err != nil {
		b.tally.state(p.Name, Failed, "")
		return explain(ctx, p.Module, p.Name, out, err)
	}
	if err := os.Rename(temporary, stored); err != nil {
		return err
	}
	b.tally.state(p.Name, Done, "")
	return nil
}

// buildFlags are the same for every go command: packages are shared through
// the build cache only when they are.
var buildFlags = []string{"-trimpath", "-buildvcs=false"}

// goEnv is the environment of the go command. What would change the binaries
// is fixed; where modules come from and how they are verified is the user's.
func goEnv(environment []string, arch string) []string {
	fixed := []string{"CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly", "GOWORK=off", "GO111MODULE=on",
		"GOOS=linux", "GOARCH=" + arch, "GOAMD64=", "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=", "LC_ALL=C"}
	out := slices.DeleteFunc(slices.Clone(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(fixed, func(f string) bool { return strings.HasPrefix(f, name+"=") })
	})
	return append(out, fixed...)
}

// goRun runs the go command in dir, hands each line of its standard error to
// line and returns the last lines of it. Ending ctx ends the compiler too.
func (b *builder) goRun(ctx context.Context, dir string, args []string, stdout *strings.Builder, line func(string)) (tail, error) {
	command := exec.CommandContext(ctx, b.goCommand, args...)
	command.Dir = dir
	command.Env = goEnv(os.Environ(), b.arch)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	if stdout != nil {
		command.Stdout = stdout
	}
	splitter := &lineWriter{line: line}
	command.Stderr = splitter
	err := command.Run()
	splitter.flush()
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() != nil {
		err = ctx.Err()
	}
	return splitter.tail, err
}
