package build

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// debianLock pins the Debian packages that images, the sandbox's machines and
// its tools are made of. hack/debianlock writes it: `make debian-lock`.
//
//go:embed debian.lock
var debianLock string

// A lockedPackage is one of a set, for one architecture.
type lockedPackage struct {
	set, arch, name, version, sha256 string
	// path of the file below the mirror's host, such as debian/pool/main/b/busybox/….deb.
	path string
}

func (p lockedPackage) file() string { return path.Base(p.path) }

// lockedPackages is the file, parsed; snapshot is when it was made, as
// snapshot.debian.org names moments.
type lockedPackages struct {
	snapshot string
	packages []lockedPackage
}

var lockedDebian = sync.OnceValues(func() (*lockedPackages, error) { return parseLock(debianLock) })

var (
	moment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z$`)
	})
	lockedHash = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-f]{64}$`)
	})
	lockedPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^debian(-security)?/pool/[A-Za-z0-9.+_~/-]+\.deb$`)
	})
)

// parseLock reads lines of set, architecture, name, version, hash and path;
// one "snapshot MOMENT"; and comments.
func parseLock(text string) (*lockedPackages, error) {
	all := &lockedPackages{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) == 2 && fields[0] == "snapshot" && moment().MatchString(fields[1]):
			all.snapshot = fields[1]
		case len(fields) == 6 && lockedHash().MatchString(fields[4]) && lockedPath().MatchString(fields[5]) && path.Clean(fields[5]) == fields[5]:
			all.packages = append(all.packages, lockedPackage{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]})
		default:
			return nil, fmt.Errorf("debian.lock, line %d is neither a package nor the snapshot: make it again with: make debian-lock", n)
		}
	}
	if all.snapshot == "" {
		return nil, errors.New("debian.lock names no snapshot: make it again with: make debian-lock")
	}
	return all, nil
}

// of are the packages of a set for an architecture, with what was asked for
// among them.
func (l *lockedPackages) of(set packageSet, arch string) ([]lockedPackage, error) {
	var found []lockedPackage
	for _, p := range l.packages {
		if p.set == set.name && p.arch == arch {
			found = append(found, p)
		}
	}
	for _, name := range set.packages {
		if !slices.ContainsFunc(found, func(p lockedPackage) bool { return p.name == name }) {
			return nil, fmt.Errorf("debian.lock has no package %s for %s of set %s: add it with: make debian-lock", name, arch, set.name)
		}
	}
	return found, nil
}

// locked are the packages of a set as the lock file has them.
func (s packageSet) locked(arch string) ([]lockedPackage, error) {
	all, err := lockedDebian()
	if err != nil {
		return nil, err
	}
	return all.of(s, arch)
}

// identity of what is made of the packages.
func identity(packages []lockedPackage) string {
	d := newDigest()
	for _, p := range packages {
		d.add(p.path, p.sha256)
	}
	return d.String()
}

// aptHelper downloads with apt's proxies, and without its lists.
const aptHelper = "/usr/lib/apt/apt-helper"

// debianHost is where Debian's archives are on every system.
const debianHost = "http://deb.debian.org"

// debianPlaces are where the packages may be, in order: below the hosts of
// this system's own sources, Debian's, and the snapshot of the day on which
// they were pinned, which drops nothing.
func debianPlaces(ctx context.Context, snapshot string) []func(lockedPackage) string {
	below := func(host string) func(lockedPackage) string {
		return func(p lockedPackage) string { return host + "/" + p.path }
	}
	var hosts []string
	said, err := run(ctx, "", nil, "apt-get", "--print-uris", "update")
	if err == nil {
		hosts = sourceHosts(said)
	}
	var places []func(lockedPackage) string
	for _, host := range append(hosts, debianHost) {
		places = append(places, below(host))
	}
	return append(places, func(p lockedPackage) string {
		archive, file, _ := strings.Cut(p.path, "/")
		return "http://snapshot.debian.org/archive/" + archive + "/" + snapshot + "/" + file
	})
}

// sourceHosts are those of the system's sources that are Debian's archives,
// from what apt-get says that it would fetch.
func sourceHosts(said string) []string {
	var hosts []string
	for line := range strings.SplitSeq(said, "\n") {
		url, _, found := strings.Cut(strings.TrimPrefix(line, "'"), "/dists/")
		host, archive := path.Dir(url), path.Base(url)
		if found && strings.HasPrefix(url, "http") && (archive == "debian" || archive == "debian-security") {
			host = strings.Replace(host, ":/", "://", 1) // Dir cleans it
			if !slices.Contains(hosts, host) && host != debianHost {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}

// fetchLocked downloads packages into a directory, verifies each by its hash,
// and returns the files, sorted. A place that lacks one, or has another file
// under its name, is followed by the next.
func fetchLocked(ctx context.Context, dir string, packages []lockedPackage, places []func(lockedPackage) string) ([]string, error) {
	missing := packages
	var failed error
	for _, place := range places {
		args := append(slices.Clone(aptNetwork), "download-file")
		for _, p := range missing {
			args = append(args, place(p), filepath.Join(dir, p.file()), "SHA256:"+p.sha256)
		}
		_, err := run(ctx, "", nil, aptHelper, args...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		failed = cmp.Or(err, failed)
		if missing, err = notVerified(dir, missing); err != nil {
			return nil, err
		}
		if len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("Debian's packages %s of debian.lock are on no mirror of this system's, not on %s and not on snapshot.debian.org: check the network; "+
			"where mirrors have newer ones by now, pin these with: make debian-lock: %w", names(missing), debianHost, failed)
	}
	files := make([]string, 0, len(packages))
	for _, p := range packages {
		files = append(files, filepath.Join(dir, p.file()))
	}
	slices.Sort(files)
	return files, nil
}

// notVerified are the packages whose files are not there; a file that is
// another one is removed.
func notVerified(dir string, packages []lockedPackage) ([]lockedPackage, error) {
	var missing []lockedPackage
	for _, p := range packages {
		file := filepath.Join(dir, p.file())
		sum, err := fileSHA256(file)
		if err == nil && sum == p.sha256 {
			continue
		}
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		missing = append(missing, p)
	}
	return missing, nil
}

func names(packages []lockedPackage) string {
	var all []string
	for _, p := range packages {
		all = append(all, p.name+"="+p.version)
	}
	return strings.Join(all, ", ")
}

// download fetches a set as it is locked.
func (s packageSet) download(ctx context.Context, arch, dir string) ([]string, error) {
	for _, tool := range []string{aptHelper, "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("the packages %s come from Debian and this system has no %s: build on Debian, or in a container of it", s, tool)
		}
	}
	all, err := lockedDebian()
	if err != nil {
		return nil, err
	}
	packages, err := all.of(s, arch)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return fetchLocked(ctx, dir, packages, debianPlaces(ctx, all.snapshot))
}
