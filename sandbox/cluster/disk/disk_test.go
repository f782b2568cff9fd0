package disk

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/loop"
)

// alone runs a test again in a mount namespace of its own, and returns true there.
func alone(t *testing.T) bool {
	t.Helper()
	const inside = "HYPERSHIFT_TEST_DISK"
	if os.Getenv(inside) != "" {
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	if err := loop.Missing(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	machine := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	machine.Env = append(os.Environ(), inside+"="+dir, "TMPDIR="+dir)
	machine.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	output, err := machine.CombinedOutput()
	if strings.Contains(string(output), "operation not permitted") {
		t.Skip("needs the right to mount")
	}
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	for path, n := range loop.Shown() {
		if strings.HasPrefix(path, dir) {
			t.Errorf("%s still shows %s", loop.Device(n), path)
		}
	}
	return false
}

// attached is a disk, and a file on it that has a block.
func attached(t *testing.T) (Disk, *os.File) {
	t.Helper()
	dir := t.TempDir()
	d := Disk{Image: filepath.Join(dir, "image"), Dir: filepath.Join(dir, "volumes")}
	if err := os.Mkdir(d.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(d.Dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	return d, file
}

// write adds a block to a file and waits until the disk has it.
func write(file *os.File) error {
	if _, err := file.Write(make([]byte, 4096)); err != nil {
		return err
	}
	return file.Sync()
}

// A full disk takes no new block and keeps what it has; it takes blocks again once it is emptied.
func TestFullDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	d, file := attached(t)
	for range 2 {
		if err := d.Fill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(file); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a write to the full disk: %v", err)
	}
	if err := os.WriteFile(filepath.Join(d.Dir, "another"), make([]byte, 4096), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a new file on the full disk: %v", err)
	}
	var image unix.Stat_t
	if err := unix.Stat(d.Image, &image); err != nil || image.Blocks*512 > size/8 {
		t.Errorf("the image has %d blocks of the machine's disk: %v", image.Blocks, err)
	}
	for range 2 {
		if err := d.Empty(); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(file); err != nil {
		t.Errorf("a write after the disk was full: %v", err)
	}
	_ = file.Close()
	if err := d.Detach(t.Context()); err != nil {
		t.Error(err)
	}
}

// writes says how long some writes take, and the fastest of them: other work on the machine makes single ones slow.
func writes(t *testing.T, file *os.File, count int) (all, fastest time.Duration) {
	t.Helper()
	fastest = time.Hour
	for range count {
		began := time.Now()
		if err := write(file); err != nil {
			t.Fatal(err)
		}
		all += time.Since(began)
		fastest = min(fastest, time.Since(began))
	}
	return all, fastest
}

// A slow disk takes many times as long for a write, and is as fast as before once that is over.
func TestSlowDisk(t *testing.T) {
	if !alone(t) {
		return
	}
	const count, factor = 9, 5
	d, file := attached(t)
	_, before := writes(t, file, count)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Stall(ctx) }()
	time.Sleep(stallFor / 2)
	all, _ := writes(t, file, count)
	slow := all / count
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	_, after := writes(t, file, count)
	if slow < factor*before || slow < factor*after {
		t.Errorf("a write takes %s before, %s on the slow disk, and %s after", before, slow, after)
	}
	_ = file.Close()
	if err := d.Detach(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a process that died has stopped goes on when its successor says so, and a disk is detached although its writes are stopped.
func TestStoppedWritesGoOn(t *testing.T) {
	if !alone(t) {
		return
	}
	d, file := attached(t)
	if err := d.request(freezeRequest); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Thaw(); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(file); err != nil {
		t.Error(err)
	}
	_ = file.Close()
	if err := d.request(freezeRequest); err != nil {
		t.Fatal(err)
	}
	if err := d.Detach(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(d.Attach(t.Context()), d.Attach(t.Context())); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file.Name()); err != nil || info.Size() != 2*4096 {
		t.Errorf("the disk has lost what was written: %v %v", info, err)
	}
	if err := errors.Join(d.Detach(t.Context()), d.Detach(t.Context())); err != nil {
		t.Error(err)
	}
}

// A directory with data, and a machine without the program, make no disk; nothing of the machine is filled or stopped in its place.
func TestNoDisk(t *testing.T) {
	dir := t.TempDir()
	d := Disk{Image: filepath.Join(dir, "image"), Dir: filepath.Join(dir, "volumes")}
	if err := os.MkdirAll(filepath.Join(d.Dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	var reason *NotPossible
	if err := d.Attach(t.Context()); !errors.As(err, &reason) || !strings.Contains(reason.Reason, "has data") {
		t.Errorf("a directory with data: %v", err)
	}
	if err := d.Fill(); err == nil || d.Attached() {
		t.Errorf("a directory of the machine is filled: %v", err)
	}
	if err := d.request(freezeRequest); err == nil {
		t.Error("the machine's disk is stopped")
	}
	if err := errors.Join(d.Thaw(), d.Empty(), d.Detach(t.Context())); err != nil {
		t.Error(err)
	}
}
