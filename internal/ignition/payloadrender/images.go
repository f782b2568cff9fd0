package payloadrender

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	// keptImages is how many images are kept on disk: those of two releases.
	keptImages = 4
	// rhel9 ends the names of programs for that system in images of an older one.
	rhel9 = ".rhel9"

	osReleaseFile  = "usr/lib/os-release"
	templatesDir   = "etc/mcc/templates"
	referencesFile = "release-manifests/image-references"
)

// images keeps what was taken out of images, by their references, which never lead elsewhere.
type images struct {
	dir      string
	source   release.Unpacker
	ownMajor string
	// kept are the images on disk, the last used at the end.
	kept []*unpacked
}

// unpacked is one image on disk.
type unpacked struct {
	image, dir string
	// sums are of all files, by their names below dir.
	sums map[string]string
}

func newImages(dir string, source release.Unpacker, osRelease string) (*images, error) {
	// Nobody knows whether what is there was complete.
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("empty %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep images: %w", err)
	}
	own, err := os.ReadFile(osRelease)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look at the own operating system: %w", err)
	}
	return &images{dir: dir, source: source, ownMajor: majorOf(own)}, nil
}

// majorOf is the major version of the operating system that an os-release file describes; empty where it says none.
func majorOf(osRelease []byte) string {
	for line := range bytes.Lines(osRelease) {
		if value, found := strings.CutPrefix(strings.TrimSpace(string(line)), "VERSION_ID="); found {
			major, _, _ := strings.Cut(strings.Trim(value, `"'`), ".")
			return major
		}
	}
	return ""
}

// get has the wanted files of an image on disk. What is there already is verified, and taken again where it is not what was taken.
func (c *images) get(ctx context.Context, image string, access release.Access, wanted []release.Taken) (*unpacked, error) {
	at := slices.IndexFunc(c.kept, func(u *unpacked) bool { return u.image == image })
	if at >= 0 {
		known := c.kept[at]
		c.kept = slices.Delete(c.kept, at, at+1)
		if sums, err := sumsOf(known.dir); err == nil && equal(sums, known.sums) {
			c.kept = append(c.kept, known)
			return known, nil
		}
		if err := os.RemoveAll(known.dir); err != nil {
			return nil, err
		}
	}
	for len(c.kept) >= keptImages {
		if err := os.RemoveAll(c.kept[0].dir); err != nil {
			return nil, err
		}
		c.kept = c.kept[1:]
	}
	made, err := c.unpack(ctx, image, access, wanted)
	if err != nil {
		return nil, err
	}
	if strings.Contains(image, "@sha256:") {
		c.kept = append(c.kept, made)
	}
	return made, nil
}

func (c *images) unpack(ctx context.Context, image string, access release.Access, wanted []release.Taken) (*unpacked, error) {
	name := sha256.Sum256([]byte(image))
	made := &unpacked{image: image, dir: filepath.Join(c.dir, hex.EncodeToString(name[:]))}
	if err := os.MkdirAll(made.dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(made.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := c.source.Unpack(ctx, image, access, root, wanted...); err != nil {
		return nil, errors.Join(err, os.RemoveAll(made.dir))
	}
	if made.sums, err = sumsOf(made.dir); err != nil {
		return nil, err
	}
	return made, nil
}

// sumsOf are the checksums of the files below a directory.
func sumsOf(dir string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := os.Open(file)
		if err != nil {
			return err
		}
		defer source.Close()
		digest := sha256.New()
		if _, err := io.Copy(digest, source); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		sums[name] = hex.EncodeToString(digest.Sum(nil))
		return err
	})
	return sums, err
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, sum := range a {
		if b[name] != sum {
			return false
		}
	}
	return true
}

// program is where the image's program of the name lies: of an image of RHEL 8 the one for RHEL 9 where that is the own system.
func (c *images) program(from *unpacked, name string) (string, error) {
	about, err := os.ReadFile(filepath.Join(from.dir, "os-release"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	plain := filepath.Join(from.dir, "bin", name)
	if _, there := from.sums[filepath.Join("bin", name+rhel9)]; there && majorOf(about) == "8" && c.ownMajor == "9" {
		return plain + rhel9, nil
	}
	return plain, nil
}

// machineConfigFiles are those of image machine-config-operator.
func machineConfigFiles() []release.Taken {
	wanted := []release.Taken{
		{From: osReleaseFile, To: "os-release", Mode: 0o600, Optional: true},
		{From: templatesDir + "/", To: "templates", Mode: 0o600},
	}
	for _, name := range machineConfigPrograms {
		wanted = append(wanted, programFiles("usr/bin/"+name, name)...)
	}
	return wanted
}

// programFiles are the program and what an image of an older system has for RHEL 9.
func programFiles(from, name string) []release.Taken {
	return []release.Taken{
		{From: from, To: "bin/" + name, Mode: 0o700},
		{From: from + rhel9, To: "bin/" + name + rhel9, Mode: 0o700, Optional: true},
	}
}
