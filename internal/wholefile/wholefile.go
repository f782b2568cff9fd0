// Package wholefile writes files that are never seen half written.
package wholefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ReplaceSecret replaces a file in one step; only the user can read it.
func ReplaceSecret(path string, raw []byte) error { return Replace(path, raw, 0o600) }

// Replace puts a file in the place of what is there, in one step.
func Replace(path string, raw []byte, mode os.FileMode) error {
	return writeFile(path, raw, mode, os.Rename)
}

// Create puts a file in its place unless there is one: the error is os.ErrExist then.
func Create(path string, raw []byte, mode os.FileMode) error {
	return writeFile(path, raw, mode, os.Link)
}

// writeFile has a file that is whole take its place.
func writeFile(path string, raw []byte, mode os.FileMode, place func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// Exists tells whether something is at the path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
