// Package flagfile reads files that flags name, and checks that those to be written can be.
package flagfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckWritable refuses a file that could not be written once the work is done.
func CheckWritable(flag, path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s %s: it is a folder; give a file", flag, path)
	case err == nil && unix.Access(path, unix.W_OK) != nil:
		return fmt.Errorf("%s %s: the file may not be written", flag, path)
	}
	return checkFolder(flag, path, filepath.Dir(path))
}

// checkFolder refuses a folder in which no file can be made.
func checkFolder(flag, path, folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: there is no folder %s", flag, path, folder)
	case errors.Is(err, unix.ENOTDIR), err == nil && !info.IsDir():
		return fmt.Errorf("%s %s: %s is no folder", flag, path, folder)
	case err != nil:
		return fmt.Errorf("%s %s: %w", flag, path, err)
	case unix.Access(folder, unix.W_OK|unix.X_OK) != nil:
		return fmt.Errorf("%s %s: no file may be made in %s", flag, path, folder)
	}
	return nil
}

// CheckNewFolder is for a folder that is made when it is missing: the closest one above it that exists has to take it.
func CheckNewFolder(flag, path string) error {
	folder := filepath.Clean(path)
	for {
		info, err := os.Stat(folder)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s %s: %s is no folder", flag, path, folder)
		}
		if err == nil || folder == filepath.Dir(folder) {
			return checkFolder(flag, path, folder)
		}
		folder = filepath.Dir(folder)
	}
}
