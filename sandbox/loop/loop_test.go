package loop

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// image is a file that can be shown, where the machine can show it.
func image(t *testing.T, name string, size int64) string {
	t.Helper()
	if err := Missing(); err != nil || os.Geteuid() != 0 {
		t.Skip("skipped: needs root and loop devices: ", err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, bytes.Repeat([]byte(name[:1]), int(size)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n, shown := Shown()[path]; shown {
			if err := On(n, letGo); err != nil {
				t.Error(err)
			}
		}
	})
	return path
}

func letGo(fd int) error { return unix.IoctlSetInt(fd, unix.LOOP_CLR_FD, 0) }

// shown waits until a file is shown, or is not any more: the kernel does that in its own time.
func shown(t *testing.T, path string, want bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, found := Shown()[path]; found == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is shown: %v, want %v", path, !want, want)
		}
	}
}

// What is in the file is on the device, and what is written to the device is in the file. The device stays until it is let go of.
func TestADeviceShowsAFile(t *testing.T) {
	path := image(t, "disk with blanks.img", 1<<20)
	number := -1
	if err := Attach(path, 0, func(n int) error { number = n; return nil }); err != nil {
		t.Fatal(err)
	}
	if n, found := Shown()[path]; !found || n != number {
		t.Fatalf("shown by %d, %v, want %d", n, found, number)
	}
	var stat unix.Stat_t
	if err := unix.Stat(Device(number), &stat); err != nil || unix.Major(stat.Rdev) != Major || unix.Minor(stat.Rdev) != uint32(number) {
		t.Errorf("%s is %d:%d, %v", Device(number), unix.Major(stat.Rdev), unix.Minor(stat.Rdev), err)
	}
	if err := On(number, func(fd int) error {
		block := make([]byte, 4096)
		if n, err := unix.Pread(fd, block, 1<<20-4096); err != nil || n != 4096 || block[4095] != 'd' {
			t.Errorf("read %d bytes, %v", n, err)
		}
		if n, err := unix.Pread(fd, block, 1<<20); n != 0 {
			t.Errorf("%d bytes behind the end of the file, %v", n, err)
		}
		_, err := unix.Pwrite(fd, bytes.Repeat([]byte("w"), 4096), 8192)
		return errors.Join(err, unix.Fsync(fd))
	}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text[8190:8194], []byte("ddww")) {
		t.Errorf("the file has %q, %v", text[8190:8194], err)
	}
	if err := On(number, letGo); err != nil {
		t.Fatal(err)
	}
	shown(t, path, false)
}

// A device that clears itself is the file's as long as somebody uses it, so nothing stays of work that failed.
func TestADeviceClearsItself(t *testing.T) {
	path, failure := image(t, "auto.img", 1<<16), errors.New("the mount failed")
	for _, result := range []error{nil, failure} {
		err := Attach(path, unix.LO_FLAGS_AUTOCLEAR, func(n int) error {
			if shown, found := Shown()[path]; !found || shown != n {
				t.Errorf("while it is used it is shown by %d, %v, want %d", shown, found, n)
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Errorf("%v, want %v", err, result)
		}
		shown(t, path, false)
	}
}

// A device of a file that is removed is found by the file's name, or nobody would let go of it.
func TestAFileThatIsRemoved(t *testing.T) {
	path := image(t, "gone.img", 1<<16)
	if err := Attach(path, 0, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	shown(t, path, true)
	if err := On(Shown()[path], letGo); err != nil {
		t.Fatal(err)
	}
	shown(t, path, false)
}

// Who asks at the same time gets another device: one device shows one file.
func TestDevicesAreTakenOnce(t *testing.T) {
	const many = 8
	numbers, paths := make([]int, many), make([]string, many)
	for i := range paths {
		paths[i] = image(t, string(rune('a'+i))+".img", 1<<16)
	}
	var wg sync.WaitGroup
	for i, path := range paths {
		wg.Go(func() {
			if err := Attach(path, 0, func(n int) error { numbers[i] = n; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for i, path := range paths {
		if seen[numbers[i]] || Shown()[path] != numbers[i] {
			t.Errorf("%s: device %d of %v", filepath.Base(path), numbers[i], numbers)
		}
		seen[numbers[i]] = true
		if err := On(numbers[i], func(fd int) error {
			first := make([]byte, 512)
			_, err := unix.Pread(fd, first, 0)
			if first[0] != byte('a'+i) {
				t.Errorf("%s shows %q", Device(numbers[i]), first[0])
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestNothingToShow(t *testing.T) {
	used := false
	err := Attach(filepath.Join(t.TempDir(), "none"), 0, func(int) error { used = true; return nil })
	if !errors.Is(err, os.ErrNotExist) || used {
		t.Errorf("a file that is not there: %v, used: %v", err, used)
	}
	if err := On(1<<19, func(int) error { used = true; return nil }); err == nil || used || !strings.Contains(err.Error(), Device(1<<19)) {
		t.Errorf("a device that is not there: %v, used: %v", err, used)
	}
}
