package build

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockIsComplete: every set is pinned for each architecture, with a hash and a file for each package.
func TestLockIsComplete(t *testing.T) {
	for _, set := range lockedSets {
		for _, arch := range []string{"amd64", "arm64"} {
			packages, err := set.locked(arch)
			if err != nil {
				t.Fatal(err)
			}
			if !set.alone && len(packages) <= len(set.packages) {
				t.Errorf("%s for %s lacks what its packages depend on", set.name, arch)
			}
			seen := map[string]bool{}
			for _, p := range packages {
				if seen[p.file()] {
					t.Errorf("%s for %s has %s twice", set.name, arch, p.file())
				}
				seen[p.file()] = true
			}
		}
	}
	if _, err := (packageSet{"images", []string{"busybox", "absent"}}).locked("amd64"); err == nil || !strings.Contains(err.Error(), "make debian-lock") {
		t.Errorf("a package that is not pinned: %v", err)
	}
}

func TestParseLock(t *testing.T) {
	const hash = "c1312ab770cf5c9b5a528a2918dd9a0c7e1bc8abd083641857543f05054b88be"
	const good = "snapshot 20261123T050613Z\nimages amd64 a 1 " + hash + " debian/pool/main/a/a/a_1_amd64.deb\n"
	if all, err := parseLock("# comment\n\n" + good); err != nil || len(all.packages) != 1 || all.snapshot != "20261123T050613Z" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, wrong := range []string{
		"", strings.Replace(good, hash, hash[1:], 1), strings.Replace(good, "main/a", "main/../../x", 1), strings.Replace(good, "debian/pool", "ubuntu/pool", 1),
		strings.Replace(good, " 1 ", " ", 1), strings.Replace(good, "2026", "x", 1),
	} {
		if _, err := parseLock(wrong); err == nil {
			t.Errorf("taken: %q", wrong)
		}
	}
}

func TestSourceHosts(t *testing.T) {
	said := `'http://mirror.example.com/pub/debian/dists/bookworm/InRelease' x 0
'http://mirror.example.com/pub/debian/dists/bookworm-updates/InRelease' x 0
'http://deb.debian.org/debian-security/dists/bookworm-security/InRelease' x 0
'https://deb.nodesource.com/node_20.x/dists/nodistro/InRelease' x 0
'https://cache.example.com:8443/debian-security/dists/bookworm-security/InRelease' x 0`
	if got := strings.Join(sourceHosts(said), " "); got != "http://mirror.example.com/pub https://cache.example.com:8443" {
		t.Error(got)
	}
}

// TestFetchLocked: a package comes from the first place that has the file with its hash; where none has, the error says what to do.
func TestFetchLocked(t *testing.T) {
	if _, err := exec.LookPath(aptHelper); err != nil {
		t.Skip("only Debian has apt-helper")
	}
	for _, variable := range []string{"no_proxy", "NO_PROXY"} {
		t.Setenv(variable, "127.0.0.1")
	}
	const content = "the package"
	p := lockedPackage{set: "images", arch: "amd64", name: "a", version: "1", sha256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))), path: "debian/pool/main/a/a/a_1_amd64.deb"}
	place := func(content string) func(lockedPackage) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if content == "" || r.URL.Path != "/"+p.path {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write([]byte(content))
		}))
		t.Cleanup(server.Close)
		return func(p lockedPackage) string { return server.URL + "/" + p.path }
	}
	dropped, altered, has := place(""), place("another one"), place(content)
	for title, test := range map[string]struct {
		places []func(lockedPackage) string
		found  bool
	}{
		"the mirror has it":       {[]func(lockedPackage) string{has}, true},
		"the mirror dropped it":   {[]func(lockedPackage) string{dropped, has}, true},
		"the mirror has another":  {[]func(lockedPackage) string{altered, has}, true},
		"nobody has it":           {[]func(lockedPackage) string{dropped, dropped}, false},
		"only another is to have": {[]func(lockedPackage) string{dropped, altered}, false},
	} {
		t.Run(title, func(t *testing.T) {
			dir := t.TempDir()
			files, err := fetchLocked(t.Context(), dir, []lockedPackage{p}, test.places)
			if !test.found {
				left, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
				if err == nil || !strings.Contains(err.Error(), "a=1") || !strings.Contains(err.Error(), "make debian-lock") || len(left) > 0 {
					t.Errorf("%v, left %v", err, left)
				}
				return
			}
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if got, err := os.ReadFile(files[0]); err != nil || string(got) != content {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// TestParseAvailable reads the list of what apt could install.
func TestParseAvailable(t *testing.T) {
	found := parseAvailable("Package: a\nVersion: 1:2+b1\nFilename: pool/main/a/a/a_2+b1_amd64.deb\nSHA256: ff\nDescription: x\n more: y\n\nPackage: b\nVersion: 3\nFilename: pool/b.deb\nSHA256: ee\n")
	if a := found["pool/main/a/a/a_2+b1_amd64.deb"]; a.name != "a" || a.version != "1:2+b1" || a.sha256 != "ff" || found["pool/b.deb"].name != "b" {
		t.Errorf("%+v", found)
	}
}
