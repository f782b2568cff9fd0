// Package disk makes a directory a disk of its own, which can be full or slow without anything else of the machine being so.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/loop"
)

const (
	// size of a disk. Its image has only what was written.
	size = 8 << 30
	// fileSystem of a disk, and the program that makes it.
	fileSystem = "ext4"
	maker      = "mkfs." + fileSystem
	// filler is the file that a full disk is full of.
	filler = ".full"
	// stallFor is how long a write to a slow disk waits at most, and passFor how long new writes get through in between.
	stallFor = 300 * time.Millisecond
	passFor  = 2 * time.Millisecond
	// patience is how long a loop device may take to let go of an image that is not mounted any more.
	patience = 10 * time.Second
)

// The requests of linux/fs.h that stop and start the writes of a file system, which package unix lacks.
const (
	freezeRequest = 0xc0045877 // FIFREEZE
	thawRequest   = 0xc0045878 // FITHAW
)

// Disk is a file system in a file, mounted at a directory.
type Disk struct{ Image, Dir string }

// NotPossible says why a directory is no disk of its own, and what to do.
type NotPossible struct{ Reason string }

func (e *NotPossible) Error() string { return e.Reason }

// Attach mounts the disk unless it is mounted, and makes its file system first where there is none. It returns a *NotPossible when the
// directory has to do without; what is on a disk that was made before is never hidden so.
func (d Disk) Attach(ctx context.Context) error {
	if d.Attached() {
		return nil
	}
	if _, err := os.Stat(d.Image); errors.Is(err, fs.ErrNotExist) {
		if err := d.make(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	err := loop.Attach(d.Image, unix.LO_FLAGS_AUTOCLEAR, func(n int) error {
		return unix.Mount(loop.Device(n), d.Dir, fileSystem, 0, "")
	})
	if err != nil {
		return fmt.Errorf("mount the disk %s at %s: %w", d.Image, d.Dir, err)
	}
	return nil
}

// make makes the file system, complete or not at all.
func (d Disk) make(ctx context.Context) error {
	entries, err := os.ReadDir(d.Dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return &NotPossible{"its directory has data of a time when it was no disk of its own"}
	}
	if err := loop.Missing(); err != nil {
		return &NotPossible{err.Error()}
	}
	program, err := exec.LookPath(maker)
	if err != nil {
		// Who is no administrator by login has no such directory in PATH.
		if program, err = exec.LookPath(filepath.Join("/usr/sbin", maker)); err != nil {
			return &NotPossible{"this machine has no program " + maker + ": install the package e2fsprogs"}
		}
	}
	work := d.Image + ".new"
	file, err := os.OpenFile(work, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		return err
	}
	// Nothing is kept for root: whoever writes to a full disk is root.
	if out, err := exec.CommandContext(ctx, program, "-q", "-F", "-m", "0", work).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", maker, err, out)
	}
	return os.Rename(work, d.Image)
}

// Attached tells whether the disk is mounted at its directory, and not something else or nothing.
func (d Disk) Attached() bool {
	var dir, image unix.Stat_t
	if unix.Stat(d.Dir, &dir) != nil || unix.Stat(d.Image, &image) != nil || unix.Major(dir.Dev) != loop.Major {
		return false
	}
	shown, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/loop/backing_file", loop.Major, unix.Minor(dir.Dev)))
	if err != nil {
		return false
	}
	var backing unix.Stat_t
	return unix.Stat(strings.TrimSpace(string(shown)), &backing) == nil && backing.Dev == image.Dev && backing.Ino == image.Ino
}

// Fill takes all room that is left, so that writes to new room fail with "no space left on device".
func (d Disk) Fill() error {
	if !d.Attached() {
		return fmt.Errorf("%s is no disk of its own, and is not filled", d.Dir)
	}
	file, err := os.OpenFile(filepath.Join(d.Dir, filler), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var room unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &room); err != nil {
		return err
	}
	end, block := info.Size(), room.Bsize
	for part := int64(room.Bfree) * block; part >= block; {
		switch err := unix.Fallocate(int(file.Fd()), 0, end, part); {
		case err == nil:
			end += part
		case errors.Is(err, unix.ENOSPC):
			part = part / 2 / block * block // the file system needs some room to tell where the file is
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("fill %s: %w", d.Dir, err)
		}
	}
	return nil
}

// Empty gives the room back that Fill has taken.
func (d Disk) Empty() error {
	if err := os.Remove(filepath.Join(d.Dir, filler)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Stall makes the disk slow until the context ends: nearly all the time its file system takes no writes, and what is written waits. The disk
// is as fast as before when Stall returns. When this process dies meanwhile, whoever takes its place has to call Thaw.
func (d Disk) Stall(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := d.request(freezeRequest); err != nil {
			return fmt.Errorf("stop the writes to %s: %w", d.Dir, err)
		}
		wait(ctx, stallFor)
		if err := d.Thaw(); err != nil {
			return err
		}
		wait(ctx, passFor)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Thaw lets writes through, whoever has stopped them.
func (d Disk) Thaw() error {
	if !d.Attached() {
		return nil
	}
	if err := d.request(thawRequest); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: nobody has
		return fmt.Errorf("let writes to %s through again: %w", d.Dir, err)
	}
	return nil
}

// request asks the file system of the disk, and never that of the machine.
func (d Disk) request(number uint) error {
	if !d.Attached() {
		return fmt.Errorf("%s is no disk of its own", d.Dir)
	}
	dir, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.IoctlSetInt(int(dir.Fd()), number, 0)
}

// Detach unmounts the disk, and returns when no loop device has its image.
func (d Disk) Detach(ctx context.Context) error {
	if err := d.Thaw(); err != nil {
		return err
	}
	if d.Attached() {
		if err := unix.Unmount(d.Dir, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount the disk at %s: %w", d.Dir, err)
		}
	}
	image, err := filepath.EvalSymlinks(d.Image) // as the kernel tells it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n, shown := loop.Shown()[image]
		if !shown {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("loop device %s still has the disk %s, since a process uses it: end it (fuser -v %s tells which), and repeat this command", loop.Device(n), d.Image, d.Image)
		}
		wait(ctx, 20*time.Millisecond)
	}
}
