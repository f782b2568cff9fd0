package payload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// hostTools are programs that Debian packages put on this machine; a missing one stays out and is noticed by closure.
func hostTools(names ...string) []string {
	var paths []string
	for _, name := range names {
		for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				paths = append(paths, filepath.Join(dir, name))
				break
			}
		}
	}
	return paths
}

// closure is the programs with every library that the loader would give them, at the places where they stand on this machine.
func closure(programs ...string) ([]file, error) {
	return closureIn("", programs...)
}

// closureIn does the same for programs unpacked under root, whose libraries are looked for under root first.
func closureIn(root string, programs ...string) ([]file, error) {
	if len(programs) == 0 {
		return nil, errors.New("no program to put into an image: install the Debian packages nftables, iptables and conntrack")
	}
	seen := map[string]bool{}
	var files []file
	add := func(source string) {
		target := strings.TrimPrefix(strings.TrimPrefix(source, root), "/")
		if !seen[target] {
			seen[target] = true
			files = append(files, file{Path: usrMerged(target), Source: source})
		}
	}
	for _, program := range programs {
		libraries, err := loadedBy(root, program)
		if err != nil {
			return nil, err
		}
		add(program)
		for _, library := range libraries {
			add(library)
		}
		for _, extension := range extensions(program) {
			add(extension)
		}
	}
	// The loader's own path is compiled into every program.
	files = append(files, file{Path: "lib64", Link: "usr/lib64"}, file{Path: "lib", Link: "usr/lib"})
	return files, nil
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

// extensions are the shared objects that a program opens by itself.
func extensions(program string) []string {
	if !strings.HasPrefix(filepath.Base(program), "iptables") {
		return nil
	}
	found, _ := filepath.Glob("/usr/lib/*/xtables/*.so")
	return found
}

func loadedBy(root, program string) ([]string, error) {
	cmd := exec.Command("ldd", program)
	if root != "" {
		dirs, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(dirs, ":"))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("not a dynamic executable")) {
			return nil, nil
		}
		return nil, fmt.Errorf("cannot list the libraries of %s: %w", program, err)
	}
	var libraries []string
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		for _, field := range strings.Fields(lines.Text()) {
			if strings.HasPrefix(field, "/") {
				libraries = append(libraries, field)
				break
			}
		}
		if strings.Contains(lines.Text(), "not found") {
			return nil, fmt.Errorf("%s lacks a library: %s", program, strings.TrimSpace(lines.Text()))
		}
	}
	return libraries, lines.Err()
}
