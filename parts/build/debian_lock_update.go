package build

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// lockedSets are the sets of the lock file, and whether apt adds what they
// depend on.
var lockedSets = []struct {
	packageSet
	alone bool
}{
	{imageSet, false}, {conformanceSet, false}, {machineSet, false}, {toolSet, true},
}

// LockDebian writes the lock file anew: the versions that the system's
// sources have now, for every architecture, verified by the distribution's
// signatures. Nothing is downloaded but lists.
func LockDebian(ctx context.Context, now time.Time) (string, error) {
	lines := []string{}
	for _, arch := range []string{"amd64", "arm64"} {
		private, err := os.MkdirTemp("", "debianlock-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(private)
		options, err := aptPrivate(ctx, private, arch)
		if err != nil {
			return "", err
		}
		available, err := run(ctx, "", nil, "apt-cache", append(slices.Clone(options), "dumpavail")...)
		if err != nil {
			return "", err
		}
		stanzas := parseAvailable(available)
		for _, set := range lockedSets {
			found, err := lockSet(ctx, options, set.packageSet, set.alone)
			if err != nil {
				return "", fmt.Errorf("set %s for %s: %w", set.name, arch, err)
			}
			for _, file := range found {
				_, below, _ := strings.Cut(file, "/")
				p, known := stanzas[below]
				if !known {
					return "", fmt.Errorf("apt's lists do not have %s", file)
				}
				lines = append(lines, strings.Join([]string{set.name, arch, p.name, p.version, p.sha256, file}, " "))
			}
		}
	}
	slices.Sort(lines)
	return "# Debian packages that images, machines of the sandbox and its tools are made of. Made by: make debian-lock\n" +
		"snapshot " + now.UTC().Format("20060102T150405Z") + "\n" + strings.Join(lines, "\n") + "\n", nil
}

// aptPrivate fetches lists as for an empty system of the architecture; the
// sources and keys are this system's.
func aptPrivate(ctx context.Context, private, arch string) ([]string, error) {
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(private, d), 0o755); err != nil {
			return nil, err
		}
	}
	status := filepath.Join(private, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return nil, err
	}
	options := append([]string{"-o", "Dir::State=" + private, "-o", "Dir::State::status=" + status, "-o", "Dir::Cache=" + filepath.Join(private, "cache"),
		"-o", "APT::Architecture=" + arch, "-o", "APT::Architectures=" + arch, "-o", "Acquire::Languages=none"}, aptNetwork...)
	if _, err := run(ctx, "", nil, "apt-get", append(slices.Clone(options), "update")...); err != nil {
		return nil, fmt.Errorf("no package lists for %s: check the network and /etc/apt/sources.list: %w", arch, err)
	}
	return options, nil
}

// lockSet are the files that apt would download, below the mirror's host.
func lockSet(ctx context.Context, options []string, set packageSet, alone bool) ([]string, error) {
	words := []string{"-y", "--no-install-recommends", "--print-uris", "install"}
	if alone {
		words = []string{"--print-uris", "download"}
	}
	said, err := run(ctx, "", nil, "apt-get", slices.Concat(options, words, set.packages)...)
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.SplitSeq(said, "\n") {
		if !strings.HasPrefix(line, "'") {
			continue
		}
		quoted, _, _ := strings.Cut(line[1:], "'")
		parsed, err := url.Parse(quoted)
		if err != nil {
			return nil, err
		}
		archive, below, found := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/pool/")
		file := archive[strings.LastIndex(archive, "/")+1:] + "/pool/" + below
		if !found || !lockedPath().MatchString(file) {
			return nil, fmt.Errorf("%s is not on a mirror of Debian: leave other sources out of /etc/apt", quoted)
		}
		files = append(files, file)
	}
	return files, nil
}

// parseAvailable reads apt's list of packages, by file.
func parseAvailable(text string) map[string]lockedPackage {
	found := map[string]lockedPackage{}
	var p lockedPackage
	lines := bufio.NewScanner(strings.NewReader(text + "\n\n"))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "Package":
			p.name = value
		case "Version":
			p.version = value
		case "SHA256":
			p.sha256 = value
		case "Filename":
			p.path = value
		case "":
			found[p.path], p = p, lockedPackage{}
		}
	}
	return found
}
