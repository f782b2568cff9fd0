package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// digest hashes records; a record's boundaries are part of the hash.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) add(records ...string) {
	for _, r := range records {
		fmt.Fprintf(d, "%d:%s,", len(r), r)
	}
}

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil))[:16] }

// addTree adds every file under dir with its name.
func (d digest) addTree(fsys fs.FS, dir string) error {
	return fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		d.add(name, string(text))
		return err
	})
}

// moduleHash identifies the unpacked files of a module, with the directories
// that it borrows of others.
func moduleHash(fsys fs.FS, module string, borrowed []string) (string, error) {
	d := newDigest()
	for _, dir := range append([]string{module}, borrowed...) {
		if err := d.addTree(fsys, dir); err != nil {
			return "", err
		}
	}
	return d.String(), nil
}

// replacements are the directories of a module that stand in for other modules.
func replacements(fsys fs.FS, module string) ([]string, error) {
	text, err := fs.ReadFile(fsys, path.Join(module, "go.mod.in"))
	var dirs []string
	for line := range strings.Lines(string(text)) {
		if _, dir, ok := strings.Cut(strings.TrimSpace(line), " => ./"); ok {
			dirs = append(dirs, path.Join(module, dir))
		}
	}
	return dirs, err
}

// programKey identifies a binary: whatever can change it is in the hash. Of
// the module that is go.mod, go.sum, what it replaces other modules with and,
// if the module itself has the main package, that package, so that a change
// to one main builds one program.
func programKey(fsys fs.FS, p Program, goVersion, arch string) (string, error) {
	d := newDigest()
	d.add(goVersion, "linux", arch, p.Name, p.Package)
	d.add(p.LDFlags...)
	d.add("tags")
	d.add(p.Tags...)
	dirs, err := replacements(fsys, p.Module)
	if err != nil {
		return "", fmt.Errorf("part %s: %w", p.Name, err)
	}
	dirs = append(dirs, path.Join(p.Module, "go.mod.in"), path.Join(p.Module, "go.sum.in"))
	if local, ok := strings.CutPrefix(p.Package, "./"); ok {
		dirs = append(dirs, path.Join(p.mainModule(), local))
	}
	for _, dir := range dirs {
		if err := d.addTree(fsys, dir); err != nil {
			return "", fmt.Errorf("part %s: %w", p.Name, err)
		}
	}
	return d.String(), nil
}

// setHash identifies the directory that holds all programs.
func setHash(fsys fs.FS, programs []Program, goVersion, arch string) (string, error) {
	d := newDigest()
	for _, p := range programs {
		key, err := programKey(fsys, p, goVersion, arch)
		if err != nil {
			return "", err
		}
		d.add(p.Name, key)
		d.add(slices.Sorted(slices.Values(p.Aliases))...)
	}
	return d.String(), nil
}
