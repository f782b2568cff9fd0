package handoff

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock keeps other commands from writing the same hand-off file until release is called: each of two would lose what the other
// has recorded. A command that was killed leaves a file behind that locks nothing.
func Lock(path string) (release func(), err error) {
	name := path + ".lock"
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, fileMode)
		if err != nil {
			return nil, fmt.Errorf("cannot lock the hand-off file: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("another command is at work with the hand-off file %s; run this one when that has ended, for each writes the file", path)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("cannot lock the hand-off file %s: %w", path, err)
		}
		// Whoever held the lock before may have removed the file that we have opened.
		if sameFile(f, name) {
			return func() { os.Remove(name); f.Close() }, nil
		}
		f.Close()
	}
}

func sameFile(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(opened, there)
}
