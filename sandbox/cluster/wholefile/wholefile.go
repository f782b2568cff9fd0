// Package wholefile writes what the management cluster's processes read: nothing that is there already is written again.
package wholefile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteIfChanged leaves a file alone that has the content already.
func WriteIfChanged(path string, text []byte, mode os.FileMode) error {
	if present, err := os.ReadFile(path); err == nil && string(present) == string(text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a crash; its mode would stay
		return err
	}
	if err := os.WriteFile(temporary, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(temporary, path)
}

// EnsureSecret returns the random content of a file, which it makes.
func EnsureSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		return string(text), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("random number: %w", err)
	}
	secret := hex.EncodeToString(random)
	return secret, WriteIfChanged(path, []byte(secret), 0o600)
}
