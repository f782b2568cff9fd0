package build

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A DebianPackage is one of the packages whose files images carry.
type DebianPackage struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Arch         string `json:"arch"`         // amd64, arm64 or all
	Distribution string `json:"distribution"` // ID of os-release, such as debian
	SHA256       string `json:"sha256"`       // of the package file, hexadecimal
}

// DebianRoot is the directory that packages are unpacked into, laid out like
// the root of a file system, and which package brought each file.
type DebianRoot struct {
	Dir      string
	packages []DebianPackage
	owners   map[string]int // path without leading slash: index in packages
}

// Owner is the package that a file of the directory is of, nil when it is of none. The path has no leading slash.
func (r *DebianRoot) Owner(path string) *DebianPackage {
	if i, ok := r.owners[path]; ok {
		return &r.packages[i]
	}
	return nil
}

// imageSet are the packages whose programs stand in payload images; the lock
// file adds what they depend on.
var imageSet = packageSet{"images", []string{"busybox", "conntrack", "e2fsprogs", "haproxy", "iptables", "mount", "netbase", "nftables", "util-linux", "xfsprogs"}}

// debianRecord is the file that says of a DebianRoot what is in it.
const debianRecord = "packages.json"

type debianEntry struct {
	DebianPackage
	Files []string `json:"files"`
}

// ImagePackages unpacks into the cache the Debian packages, of the target's
// architecture, whose programs stand in payload images, with everything that
// they depend on. debian.lock has their versions and hashes. Nothing is installed;
// root is not needed.
func (t Target) ImagePackages(ctx context.Context, cache string, progress func(Event)) (*DebianRoot, error) {
	return t.packages(ctx, cache, imageSet, progress)
}

// packageSet is packages that are unpacked together, under a name that begins
// the directory's.
type packageSet struct {
	name     string
	packages []string
}

func (s packageSet) String() string { return strings.Join(s.packages, ", ") }

func (t Target) packages(ctx context.Context, cache string, set packageSet, progress func(Event)) (*DebianRoot, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, err
	}
	told := newTally(progress, time.Now)
	pinned, err := set.locked(t.Arch)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "debian", set.name+"-"+t.Arch+"-"+identity(pinned))
	if root, err := readDebianRoot(dir); err == nil {
		told.state("debian "+t.Arch, Cached, "")
		return root, nil
	}
	unlock, err := lock(ctx, filepath.Join(cache, "debian", "lock"), func() {
		told.state("debian "+t.Arch, Waiting, "another process is fetching packages into "+cache)
	})
	if err != nil {
		return nil, err
	}
	defer unlock()
	if root, err := readDebianRoot(dir); err == nil {
		return root, nil
	}
	told.state("debian "+t.Arch, Waiting, "fetching "+set.String())
	if err := t.fetchPackages(ctx, cache, dir, set); err != nil {
		told.state("debian "+t.Arch, Failed, "")
		return nil, err
	}
	told.state("debian "+t.Arch, Done, "")
	return readDebianRoot(dir)
}

func readDebianRoot(dir string) (*DebianRoot, error) {
	text, err := os.ReadFile(filepath.Join(dir, debianRecord))
	if err != nil {
		return nil, err
	}
	var entries []debianEntry
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", dir, debianRecord, err)
	}
	root := &DebianRoot{Dir: filepath.Join(dir, "root"), owners: map[string]int{}}
	for i, e := range entries {
		root.packages = append(root.packages, e.DebianPackage)
		for _, file := range e.Files {
			root.owners[file] = i
		}
	}
	return root, nil
}

// fetchPackages fills dir, which appears complete or not at all.
func (t Target) fetchPackages(ctx context.Context, cache, dir string, set packageSet) error {
	staging, err := os.MkdirTemp(filepath.Join(cache, "debian"), ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	archives, err := set.download(ctx, t.Arch, filepath.Join(staging, "archives"))
	if err != nil {
		return err
	}
	whole := filepath.Join(staging, "whole")
	if err := os.MkdirAll(filepath.Join(whole, "root"), 0o755); err != nil {
		return err
	}
	var entries []debianEntry
	for _, archive := range archives {
		entry, err := unpackPackage(ctx, archive, filepath.Join(whole, "root"))
		if err != nil {
			return err
		}
		entry.Distribution = "debian"
		entries = append(entries, entry)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(whole, debianRecord), text, 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(whole, dir)
}

// unpackPackage unpacks a package file and tells what it is.
func unpackPackage(ctx context.Context, archive, root string) (debianEntry, error) {
	var entry debianEntry
	fields, err := run(ctx, "", nil, "dpkg-deb", "--show", "--showformat=${Package}\n${Version}\n${Architecture}", archive)
	if err != nil {
		return entry, err
	}
	parts := strings.Split(fields, "\n")
	if len(parts) != 3 {
		return entry, fmt.Errorf("dpkg-deb says %q of %s, and not its name, version and architecture", fields, filepath.Base(archive))
	}
	entry.Name, entry.Version, entry.Arch = parts[0], parts[1], parts[2]
	if entry.SHA256, err = fileSHA256(archive); err != nil {
		return entry, err
	}
	if entry.Files, err = packageFiles(ctx, archive); err != nil {
		return entry, fmt.Errorf("list the files of %s: %w", filepath.Base(archive), err)
	}
	_, err = run(ctx, "", nil, "dpkg-deb", "-x", archive, root)
	return entry, err
}

func fileSHA256(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// packageFiles are the files and links of a package, without leading slash.
func packageFiles(ctx context.Context, archive string) ([]string, error) {
	command := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive)
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	var files []string
	for reader := tar.NewReader(out); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			_ = command.Wait()
			return nil, err
		}
		if header.Typeflag != tar.TypeDir {
			files = append(files, strings.TrimPrefix(header.Name, "./"))
		}
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		_ = command.Wait()
		return nil, err
	}
	return files, command.Wait()
}
