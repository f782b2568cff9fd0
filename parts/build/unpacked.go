package build

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// unpacked is a set of Debian's packages that lies unpacked in the cache.
type unpacked struct {
	name string // of the part, and of its folder
	what string // the packages, as a person is told
	set  packageSet
	// hash tells apart what may lie there.
	hash func(pinned []lockedPackage) string
	// complete tells whether a directory has what is wanted of the packages.
	complete func(dir string) bool
	// tools of this system are needed; lacking says what to do without one.
	tools   []string
	lacking func(tool, dir string) error
	// fill unpacks the archives into an empty root.
	fill func(ctx context.Context, archives []string, root string, t *tally) error
}

// get returns the directory, which is filled unless it is there.
func (u unpacked) get(ctx context.Context, cache string, progress func(Event)) (string, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	t := newTally(progress, time.Now)
	pinned, err := u.set.locked(runtime.GOARCH)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, u.name)
	dir := filepath.Join(folder, u.hash(pinned))
	if u.complete(dir) {
		t.state(u.name, Cached, "")
		return dir, nil
	}
	for _, tool := range u.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return "", u.lacking(tool, dir)
		}
	}
	unlock, err := lock(ctx, filepath.Join(folder, "lock"), func() {
		t.state(u.name, Waiting, "another process is fetching packages into "+cache)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if !u.complete(dir) {
		if err := u.fetch(ctx, folder, dir, t); err != nil {
			t.state(u.name, Failed, "")
			return "", err
		}
	}
	t.state(u.name, Done, "")
	return dir, nil
}

// fetch has the directory take its place when it is whole.
func (u unpacked) fetch(ctx context.Context, folder, dir string, t *tally) error {
	staging, err := os.MkdirTemp(folder, ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	root := filepath.Join(staging, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	t.state(u.name, Waiting, "downloading "+u.what)
	archives, err := u.set.download(ctx, runtime.GOARCH, filepath.Join(staging, "archives"))
	if err != nil {
		return err
	}
	if err := u.fill(ctx, archives, root, t); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(root, dir)
}
