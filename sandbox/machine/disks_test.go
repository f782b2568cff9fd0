package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// bench is a store, and folders that stand for the /dev of machines.
type bench struct {
	*testing.T
	store *diskStore
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b := &bench{T: t, store: newDiskStore(t.TempDir())}
	t.Cleanup(func() {
		if err := b.store.release(nil); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) machine() *os.Root {
	b.Helper()
	dev, err := os.OpenRoot(b.TempDir())
	b.must(err)
	b.Cleanup(func() { dev.Close() })
	return dev
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// device opens what is in a slot, by the link of the slot.
func (b *bench) device(dev *os.Root, slot string) *os.File {
	b.Helper()
	file, err := os.OpenFile(filepath.Join(dev.Name(), slotsDir, slot), os.O_RDWR, 0)
	b.must(err)
	return file
}

func (b *bench) text(dev *os.Root, slot string) string {
	b.Helper()
	raw := make([]byte, 16)
	device := b.device(dev, slot)
	defer device.Close()
	_, err := device.ReadAt(raw, 1<<20)
	b.must(err)
	return strings.TrimRight(string(raw), "\x00")
}

// TestDisks: a disk is a block device in its slot, keeps its data in the next machine, grows while it is there, and is copied as it was.
func TestDisks(t *testing.T) {
	b := newBench(t)
	disk := feed.Disk{UniqueID: "one", SizeGiB: 1}
	b.must(b.store.keep([]feed.Disk{disk}))
	first, second := b.machine(), b.machine()
	b.must(b.store.plugDisks(first, []feed.DataDisk{{LUN: 1, UniqueID: "one"}}))
	file := b.device(first, "lun1")
	_, err := file.WriteAt([]byte("written"), 1<<20)
	b.must(err)
	b.must(file.Sync())

	disk.SizeGiB = 2
	b.must(b.store.keep([]feed.Disk{disk, {UniqueID: "copy", SizeGiB: 2, Source: "snapshot"}, {UniqueID: "snapshot", SizeGiB: 2, Source: "one"}}))
	if size, err := file.Seek(0, 2); err != nil || size != 2<<30 {
		t.Errorf("the device has %d bytes, %v; want 2 GiB", size, err)
	}
	_, err = file.WriteAt([]byte("changed"), 1<<20)
	b.must(err)
	b.must(file.Sync())
	file.Close()

	b.must(b.store.plugDisks(first, nil))
	if _, err := first.Lstat("sdd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the device of a disk that was detached: %v", err)
	}
	b.must(b.store.plugDisks(second, []feed.DataDisk{{LUN: 0, UniqueID: "one"}, {LUN: 5, UniqueID: "copy"}}))
	if moved, copied := b.text(second, "lun0"), b.text(second, "lun5"); moved != "changed" || copied != "written" {
		t.Errorf("the disk says %q and its copy %q", moved, copied)
	}
	if target, err := second.Readlink(slotsDir + "/lun5"); err != nil || target != "../../../sdh" {
		t.Errorf("slot 5 leads to %s, %v", target, err)
	}

	b.must(b.store.plugDisks(second, []feed.DataDisk{{LUN: 0, UniqueID: "copy"}}))
	if got := b.text(second, "lun0"); got != "written" {
		t.Errorf("another disk in the slot says %q", got)
	}
	b.must(b.store.release(map[string]bool{"copy": true}))
	if loops := b.store.loops(); len(loops) != 1 {
		t.Errorf("loop devices after one was let go of: %v", loops)
	}
	b.must(b.store.keep([]feed.Disk{{UniqueID: "copy", SizeGiB: 2}}))
	if _, err := os.Stat(b.store.file("one")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a disk that was deleted: %v", err)
	}
}

// Holes of a disk stay holes in its copy: a test of 4 TiB costs nothing.
func TestCopiesAreSparse(t *testing.T) {
	b := newBench(t)
	b.must(b.store.keep([]feed.Disk{{UniqueID: "big", SizeGiB: 4096}, {UniqueID: "copy", SizeGiB: 4096, Source: "big"}}))
	var have unix.Stat_t
	b.must(unix.Stat(b.store.file("copy"), &have))
	if have.Size != 4096<<30 || have.Blocks > 64 {
		t.Errorf("%d bytes in %d blocks", have.Size, have.Blocks)
	}
}

// A link that a machine makes in its /dev does not lead out of it.
func TestDisksStayInTheMachine(t *testing.T) {
	b := newBench(t)
	b.must(b.store.keep([]feed.Disk{{UniqueID: "one", SizeGiB: 1}}))
	dev, outside := b.machine(), t.TempDir()
	b.must(os.Symlink(outside, filepath.Join(dev.Name(), "disk")))
	if err := b.store.plugDisks(dev, []feed.DataDisk{{LUN: 0, UniqueID: "one"}}); err == nil {
		t.Error("the link was followed")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	if own, err := ownRoot("/proc/self/root"); err != nil || own {
		t.Errorf("this process has a root of its own: %v, %v", own, err)
	}
}

func TestDeviceNames(t *testing.T) {
	for lun, want := range map[int]string{0: "sdc", 1: "sdd", 23: "sdz", 24: "sdaa", 25: "sdab", 63: "sdbn"} {
		if got := deviceName(lun); got != want {
			t.Errorf("slot %d is %s, want %s", lun, got, want)
		}
	}
}
