// Package loop shows files as block devices.
package loop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Major is the number of loop devices among Linux's block devices.
const Major = 7

const control = "/dev/loop-control"

// attempts is how often a free device is looked for: between the look and its taking somebody else may have taken it.
const attempts = 20

// Missing says why this machine has no loop devices, nil if it has some.
func Missing() error {
	file, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("this machine has no loop devices: load the kernel module loop: %w", err)
	}
	return file.Close()
}

// Shown are the numbers of devices by the file that each shows.
func Shown() map[string]int {
	out := map[string]int{}
	found, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // the pattern is well-formed
	for _, name := range found {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // let go of meanwhile
		}
		path := strings.TrimSuffix(strings.TrimSpace(string(raw)), " (deleted)")
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(filepath.Dir(name))), "loop")); err == nil {
			out[path] = n
		}
	}
	return out
}

// Device is the path of the device of a number.
func Device(n int) string { return "/dev/loop" + strconv.Itoa(n) }

// On does something with the opened device of a number.
func On(n int, do func(fd int) error) error {
	device, err := os.OpenFile(Device(n), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer device.Close()
	return do(int(device.Fd()))
}

// Attach has a free device show a file, and does something with its number while the device is open. With unix.LO_FLAGS_AUTOCLEAR the device
// lets go of the file as soon as nobody has it open or mounted.
func Attach(path string, flags uint32, do func(n int) error) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	devices, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("this machine has no loop devices to show disks with: %w", err)
	}
	defer devices.Close()
	for range attempts {
		n, err := unix.IoctlRetInt(int(devices.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("a free loop device: %w", err)
		}
		taken := false
		err = On(n, func(fd int) error {
			err := unix.IoctlLoopConfigure(fd, &unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: flags}})
			if taken = err == nil; !taken {
				return err
			}
			return do(n)
		})
		if taken || !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return fmt.Errorf("no loop device stayed free in %d attempts", attempts)
}
