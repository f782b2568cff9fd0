package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Disk space of a build. Measured for everything from nothing: 1.2 GB of
// modules, about 4.5 GB of build cache, 0.8 GB of binaries, and the linker's
// temporary files.
const (
	spaceCold    = 8 << 30
	spaceModules = 2 << 30
	spacePackage = 3 << 19 // of build cache, for a package still to be compiled
	spaceProgram = 250 << 20
)

// freeBytes is the space an unprivileged user may fill on the file system
// that holds dir or, while dir does not exist, its nearest parent.
func freeBytes(dir string) (uint64, error) {
	for {
		var stat syscall.Statfs_t
		err := syscall.Statfs(dir, &stat)
		if err == nil {
			return stat.Bavail * uint64(stat.Bsize), nil
		}
		if !errors.Is(err, syscall.ENOENT) || dir == filepath.Dir(dir) {
			return 0, fmt.Errorf("free space of %s: %w", dir, err)
		}
		dir = filepath.Dir(dir)
	}
}

// checkSpace refuses to begin what the disk cannot hold. Before the modules
// are there (packages < 0) it asks for what fetching them takes; then the
// number of packages to compile is known.
func (b *builder) checkSpace(programs []Program, packages int) error {
	need := uint64(spaceModules)
	if packages >= 0 {
		need = uint64(packages)*spacePackage + uint64(len(programs))*spaceProgram
	}
	for _, dir := range b.spaceDirs() {
		free, err := b.free(dir)
		if err != nil {
			return err
		}
		if free < spaceCold && free < need {
			return fmt.Errorf("not enough disk space for building %d parts: %s has %.1f GB free and this needs about %.1f GB (%d GB for everything from nothing): free some, or set HYPERSHIFT_CACHE, GOCACHE and GOMODCACHE to directories on a larger disk",
				len(programs), dir, gigabytes(free), gigabytes(need), spaceCold>>30)
		}
	}
	return nil
}

// spaceDirs are the directories that a build fills.
func (b *builder) spaceDirs() []string {
	dirs := []string{b.cache}
	command := exec.Command(b.goCommand, "env", "GOCACHE", "GOMODCACHE")
	command.Env = goEnv(os.Environ(), b.arch)
	command.Dir = os.TempDir()
	if out, err := command.Output(); err == nil {
		for _, dir := range strings.Fields(string(out)) {
			if filepath.IsAbs(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

func gigabytes(n uint64) float64 { return float64(n) / (1 << 30) }

// lock takes an exclusive lock on a file, which it makes. It calls wait once
// if somebody else has the lock. A lock ends with its process.
func lock(ctx context.Context, path string, wait func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			wait()
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-poll.C:
		}
	}
}
