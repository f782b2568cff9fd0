package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hypershift-on-azure/hypershift/parts"
)

// unpack writes a module's files, without their suffix, to
// <cache>/src/<module>-<hash> and returns that directory, into which it also
// puts the borrowed directories of other modules, such as kube134/kube, by
// their last name. The directory appears complete or not at all.
func unpack(fsys fs.FS, module string, borrowed []string, cache string) (string, error) {
	hash, err := moduleHash(fsys, module, borrowed)
	if err != nil {
		return "", fmt.Errorf("module %s: %w", module, err)
	}
	dir := filepath.Join(cache, "src", module+"-"+hash)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	staging, err := os.MkdirTemp(filepath.Dir(dir), ".unpack-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(staging)
	if err := copyTree(fsys, module, staging); err != nil {
		return "", fmt.Errorf("unpack module %s: %w", module, err)
	}
	for _, from := range borrowed {
		if err := copyTree(fsys, from, filepath.Join(staging, path.Base(from))); err != nil {
			return "", fmt.Errorf("unpack %s for module %s: %w", from, module, err)
		}
	}
	if err := os.Chmod(staging, 0o755); err != nil {
		return "", err
	}
	// Somebody else may have been faster, with the same content.
	if err := os.Rename(staging, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

func copyTree(fsys fs.FS, from, to string) error {
	return fs.WalkDir(fsys, from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, filepath.FromSlash(name))
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		plain, ok := strings.CutSuffix(target, parts.Suffix)
		if !ok {
			return fmt.Errorf("%s lacks the suffix %s", name, parts.Suffix)
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		return os.WriteFile(plain, text, 0o644)
	})
}
