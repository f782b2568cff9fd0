package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// DebianProgram unpacks one package of Debian's into the cache and returns the
// path of the program in it. It is for tools of tests, which need none of the
// package's dependencies. Nothing is installed; root is not needed.
func DebianProgram(ctx context.Context, cache, pkg, program string) (string, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	release, _ := os.ReadFile("/etc/os-release") // a system without the file has one identity too
	d := newDigest()
	d.add(string(release), pkg)
	dir := filepath.Join(cache, "debian", pkg+"-"+d.String())
	if path, err := findDebian(dir, program); err == nil {
		return path, nil
	}
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%s comes from Debian's package %s and this system has no %s: %w", program, pkg, tool, err)
		}
	}
	unlock, err := lock(ctx, filepath.Join(cache, "debian", "lock"), func() {})
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, err := findDebian(dir, program); err == nil {
		return path, nil
	}
	staging, err := os.MkdirTemp(filepath.Join(cache, "debian"), ".fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(staging)
	t := newTally(nil, time.Now)
	root := filepath.Join(staging, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return "", err
	}
	if err := aptDownload(ctx, cache, staging, []string{pkg}, t); err != nil {
		return "", err
	}
	archives, err := filepath.Glob(filepath.Join(staging, "*.deb"))
	if err != nil {
		return "", err
	}
	if err := unpackDebian(ctx, archives, root, t); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.Rename(root, dir); err != nil {
		return "", err
	}
	return findDebian(dir, program)
}

func findDebian(root, program string) (string, error) {
	for _, dir := range debianDirs {
		path := filepath.Join(root, dir, program)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s has no program %s", root, program)
}
