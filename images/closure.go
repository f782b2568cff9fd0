package images

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// maxLinks is how many links in a row lead to a file.
const maxLinks = 16

// Closure is programs of unpacked packages with every library that the loader would give them, at the places where a merged Debian has
// them. Nothing is run: the packages may be of another architecture. programs are paths below the directory; extensions are patterns
// of the shared objects that a program opens by itself.
func Closure(root *build.DebianRoot, programs []string, extensions ...string) ([]File, error) {
	c := &closure{root: root, seen: map[string]bool{}}
	for _, program := range programs {
		if err := c.add(program); err != nil {
			return nil, err
		}
	}
	for _, pattern := range extensions {
		found, err := filepath.Glob(filepath.Join(root.Dir, pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("the packages have no %s", pattern)
		}
		for _, extension := range found {
			relative, err := filepath.Rel(root.Dir, extension)
			if err != nil {
				return nil, err
			}
			if err := c.add(relative); err != nil {
				return nil, err
			}
		}
	}
	return append(c.files, c.merged()...), nil
}

type closure struct {
	root  *build.DebianRoot
	seen  map[string]bool
	files []File
}

// add takes a file, its loader and its libraries, and theirs.
func (c *closure) add(name string) error {
	if c.seen[usrMerged(name)] {
		return nil
	}
	source, err := c.follow(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.seen[usrMerged(name)] = true
	full := filepath.Join(c.root.Dir, source)
	c.files = append(c.files, File{Path: usrMerged(name), Source: full, Package: c.root.Owner(source)})
	if isELF, err := hasMagic(full); err != nil || !isELF {
		return err // a script, or data
	}
	program, err := elf.Open(full)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer program.Close()
	needs, err := program.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: which libraries it needs cannot be read: %w", name, err)
	}
	if loader := interpreter(program); loader != "" {
		needs = append(needs, loader)
	}
	for _, library := range needs {
		place, err := c.find(library, filepath.Dir(source))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := c.add(place); err != nil {
			return err
		}
	}
	return nil
}

func hasMagic(path string) (bool, error) {
	in, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	begin := make([]byte, len(elf.ELFMAG))
	n, err := io.ReadFull(in, begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(begin[:n]) == elf.ELFMAG, err
}

// interpreter is the loader that the kernel starts for a program; a library names none.
func interpreter(program *elf.File) string {
	for _, segment := range program.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, segment.Filesz)
		if _, err := segment.ReadAt(text, 0); err != nil {
			return ""
		}
		return strings.TrimRight(string(text), "\x00")
	}
	return ""
}

// find is where a library lies below the directory: a path names its place, a name is looked for where the loader does.
func (c *closure) find(library, beside string) (string, error) {
	if path.IsAbs(library) {
		return strings.TrimPrefix(library, "/"), nil
	}
	places := []string{beside}
	for _, pattern := range []string{"lib/*-linux-gnu", "usr/lib/*-linux-gnu", "lib", "usr/lib", "lib64", "usr/lib64"} {
		found, err := filepath.Glob(filepath.Join(c.root.Dir, pattern))
		if err != nil {
			return "", err
		}
		for _, dir := range found {
			relative, err := filepath.Rel(c.root.Dir, dir)
			if err != nil {
				return "", err
			}
			places = append(places, relative)
		}
	}
	for _, dir := range places {
		name := filepath.Join(dir, library)
		if c.seen[usrMerged(name)] {
			return name, nil
		}
		if _, err := c.follow(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("it needs the library %s, which the packages do not have", library)
}

// follow is the file that a name leads to. Links are followed below the directory alone: an absolute one would leave it.
func (c *closure) follow(name string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(filepath.Join(c.root.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the packages have no file %s", name)
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return name, nil
		}
		target, err := os.Readlink(filepath.Join(c.root.Dir, name))
		if err != nil {
			return "", err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = strings.TrimPrefix(path.Clean("/"+target), "/")
	}
	return "", fmt.Errorf("%s: too many links", name)
}

// merged are the links by which the loader's own path, which is compiled into every program, leads to it.
func (c *closure) merged() []File {
	var links []File
	for _, dir := range []string{"lib", "lib64"} {
		if slices.ContainsFunc(c.files, func(f File) bool { return strings.HasPrefix(f.Path, "usr/"+dir+"/") }) {
			links = append(links, File{Path: dir, Link: "usr/" + dir})
		}
	}
	return links
}

// usrMerged puts /lib, /sbin and /lib64 where a merged Debian keeps them; /bin stays, the base layer's own programs are there.
func usrMerged(path string) string {
	for _, dir := range []string{"lib/", "lib64/", "sbin/"} {
		if strings.HasPrefix(path, dir) {
			return "usr/" + path
		}
	}
	return path
}
