package machine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/loop"
)

const (
	disksDir = ".disks" // below the folder of the machines, none of which has such a name
	slotsDir = "disk/azure/scsi1"
	slotName = "lun"
)

// diskStore has the contents of data disks and snapshots: sparse files, which are loop devices while a machine has them. What is
// attached is what the kernel says; nothing of it is remembered, so that the store can be opened again at any time.
type diskStore struct {
	dir string
	mu  sync.Mutex // one change at a time
}

func newDiskStore(machines string) *diskStore {
	return &diskStore{dir: filepath.Join(machines, disksDir)}
}

func (s *diskStore) file(id string) string { return filepath.Join(s.dir, filepath.Base(id)) }

// keep makes the files of disks, with their sizes, those that are copies from what they are copies of, and forgets those that are gone:
// copies come first, so that a source may go as soon as Azure has taken the copy.
func (s *diskStore) keep(disks []feed.Disk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	wanted := map[string]bool{}
	for _, d := range ordered(disks) {
		wanted[filepath.Base(d.UniqueID)] = true
		if err := s.fill(d); err != nil {
			errs = append(errs, fmt.Errorf("disk %s: %w", d.UniqueID, err))
		}
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, e := range entries {
		if !wanted[e.Name()] {
			errs = append(errs, os.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// ordered has what is copied before its copies.
func ordered(disks []feed.Disk) []feed.Disk {
	by := map[string]feed.Disk{}
	for _, d := range disks {
		by[d.UniqueID] = d
	}
	depth := func(d feed.Disk) int {
		n := 0
		for at, ok := d, true; ok && n < len(disks); n++ { // no disk is its own source, and a feed may be wrong
			at, ok = by[at.Source]
		}
		return n
	}
	out := slices.Clone(disks)
	slices.SortStableFunc(out, func(a, b feed.Disk) int { return depth(a) - depth(b) })
	return out
}

// fill makes a disk's file when it is not there, and lets it grow.
func (s *diskStore) fill(d feed.Disk) error {
	path, size := s.file(d.UniqueID), int64(d.SizeGiB)<<30
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
		if err := s.begin(path, d.Source); err != nil {
			return err
		}
		info, err = os.Stat(path)
	}
	if err != nil || info.Size() >= size {
		return err
	}
	if err := os.Truncate(path, size); err != nil {
		return err
	}
	if n, ok := s.loops()[path]; ok {
		return loop.On(n, func(fd int) error { return unix.IoctlSetInt(fd, unix.LOOP_SET_CAPACITY, 0) })
	}
	return nil
}

// begin makes a file, complete or not at all: empty, or a copy of another disk as it is at this moment.
func (s *diskStore) begin(path, source string) error {
	work := path + ".new"
	out, err := os.OpenFile(work, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if source != "" {
		in, err := os.Open(s.file(source))
		if err != nil {
			return fmt.Errorf("what it is a copy of: %w", err)
		}
		defer in.Close()
		if err := copySparse(out, in); err != nil {
			return err
		}
	}
	return os.Rename(work, path)
}

// copySparse copies what a file has between its holes.
func copySparse(out, in *os.File) error {
	end, err := in.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err := out.Truncate(end); err != nil {
		return err
	}
	for at := int64(0); at < end; {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // nothing but a hole is left
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(out, data), io.NewSectionReader(in, data, hole-data)); err != nil {
			return err
		}
		at = hole
	}
	return nil
}

// loops are the numbers of loop devices by the file that each shows, of this store.
func (s *diskStore) loops() map[string]int {
	shown := loop.Shown()
	maps.DeleteFunc(shown, func(path string, _ int) bool { return filepath.Dir(path) != s.dir })
	return shown
}

// attach is the number of the loop device that shows a disk.
func (s *diskStore) attach(id string) (number int, err error) {
	path := s.file(id)
	if n, ok := s.loops()[path]; ok {
		return n, nil
	}
	err = loop.Attach(path, 0, func(n int) error {
		number = n
		return nil
	})
	return number, err
}

// release lets go of the loop devices of disks that nobody has. One that is still mounted goes with its last mount.
func (s *diskStore) release(attached map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for path, n := range s.loops() {
		if attached[filepath.Base(path)] {
			continue
		}
		err := loop.On(n, func(fd int) error { return unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0) })
		if err != nil && !errors.Is(err, unix.ENXIO) {
			errs = append(errs, fmt.Errorf("letting go of disk %s: %w", filepath.Base(path), err))
		}
	}
	return errors.Join(errs...)
}

// plugDisks makes the disks of a running machine be those that it is to have: block devices named as Linux names them on Azure, and links
// named by their slots, as Azure's rules for udev make them. dev is the machine's /dev: links there lead nowhere outside of it.
func (s *diskStore) plugDisks(dev *os.Root, disks []feed.DataDisk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[string]feed.DataDisk{}
	for _, d := range disks {
		wanted[slotName+strconv.Itoa(d.LUN)] = d
	}
	if err := unplug(dev, wanted); err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := dev.MkdirAll(slotsDir, 0o755); err != nil {
		return err
	}
	folder, err := dev.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	var errs []error
	for slot, d := range wanted {
		if err := s.plugDisk(dev, int(folder.Fd()), slot, d); err != nil {
			errs = append(errs, fmt.Errorf("disk in slot %d: %w", d.LUN, err))
		}
	}
	return errors.Join(errs...)
}

func (s *diskStore) plugDisk(dev *os.Root, folder int, slot string, d feed.DataDisk) error {
	n, err := s.attach(d.UniqueID)
	if err != nil {
		return err
	}
	name, number := deviceName(d.LUN), int(unix.Mkdev(loop.Major, uint32(n)))
	var have unix.Stat_t
	if err := unix.Fstatat(folder, name, &have, unix.AT_SYMLINK_NOFOLLOW); err == nil && have.Rdev != uint64(number) {
		if err := dev.Remove(name); err != nil { // another disk was in this slot
			return err
		}
	}
	if err := unix.Mknodat(folder, name, unix.S_IFBLK|0o660, number); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	err = dev.Symlink("../../../"+name, filepath.Join(slotsDir, slot))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// unplug takes what is in slots that are to be empty.
func unplug(dev *os.Root, wanted map[string]feed.DataDisk) error {
	slots, err := fs.ReadDir(dev.FS(), slotsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range slots {
		lun, err := strconv.Atoi(strings.TrimPrefix(e.Name(), slotName))
		if _, stays := wanted[e.Name()]; stays || err != nil {
			continue
		}
		for _, name := range []string{filepath.Join(slotsDir, e.Name()), deviceName(lun)} {
			if err := dev.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// deviceName is what Linux calls the disk in a slot: sda and sdb are the operating system's and the temporary disk.
func deviceName(lun int) string {
	const letters, first = 26, 2
	n := lun + first
	if n < letters {
		return "sd" + string(rune('a'+n))
	}
	return "sd" + string(rune('a'+n/letters-1)) + string(rune('a'+n%letters))
}

// disksOf plugs the disks of a machine that runs. One that is still on the host's root file system has no /dev of its own yet.
func (h *hypervisor) disksOf(m feed.Machine, v *vm) error {
	root := fmt.Sprintf("/proc/%d/root", v.pid)
	own, err := ownRoot(root)
	if err != nil {
		return fmt.Errorf("disks of machine %s: %w", m.Name, err)
	}
	if !own {
		time.AfterFunc(retryPause, h.nudge)
		return nil
	}
	dev, err := os.OpenRoot(root + "/dev")
	if err != nil {
		return fmt.Errorf("disks of machine %s: %w", m.Name, err)
	}
	defer dev.Close()
	if err := h.disks.plugDisks(dev, m.DataDisks); err != nil {
		return fmt.Errorf("disks of machine %s: %w", m.Name, err)
	}
	return nil
}

// ownRoot tells whether a root file system is another than that of this process.
func ownRoot(root string) (bool, error) {
	its, err := os.Stat(root + "/.")
	if err != nil {
		return false, err
	}
	ours, err := os.Stat("/")
	return err == nil && !os.SameFile(its, ours), err
}

// letGo frees what no machine has any more.
func (h *hypervisor) letGo() error {
	attached := map[string]bool{}
	for _, m := range h.snap.Machines {
		for _, d := range m.DataDisks {
			attached[filepath.Base(d.UniqueID)] = true
		}
	}
	return h.disks.release(attached)
}
