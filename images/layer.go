// Package images makes container images of files, without a container engine: layers, images, indexes of several architectures, a bill
// of materials for each, and OCI layouts that carry them. What is made of the same files has the same digest, on every machine and at
// every time.
package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/singleflight"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// A File of a layer: a copy of Source, or the text, or a link.
type File struct {
	Path    string // in the image, without leading slash
	Source  string // path on this machine
	Text    string
	Link    string
	Mode    fs.FileMode          // 0 is 0755
	Package *build.DebianPackage // that Source is of; nil for what is no file of a distribution
}

// Base is what a static binary expects of a root file system.
var Base = []File{
	{Path: "etc/passwd", Text: "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n", Mode: 0o644},
	{Path: "etc/group", Text: "root:x:0:\nnogroup:x:65534:\n", Mode: 0o644},
	{Path: "etc/nsswitch.conf", Text: "hosts: files dns\n", Mode: 0o644},
	{Path: "tmp/.keep", Mode: 0o644},
	{Path: "var/lib/.keep", Mode: 0o644},
	{Path: "run/.keep", Mode: 0o644},
}

// A Store makes images and keeps their layers in a directory, so that each is made once. It may be used by several goroutines.
type Store struct {
	// Dir is the directory; layers lie below it.
	Dir string
	// Compress is for a registry behind a network; for one on this machine compressing costs more than it saves.
	Compress bool
	// Bills adds a bill of materials to every image of an Artifact.
	Bills bool

	making singleflight.Group
}

// gzipLevel is where more work hardly makes programs smaller. It is part of what makes digests: a change changes them all.
const gzipLevel = 5

// fileLayer is a layer kept as a file.
type fileLayer struct {
	path   string
	digest v1.Hash // of the file
	diffID v1.Hash // of the tar
	size   int64   // of the file, bytes
}

func (l *fileLayer) compressed() bool                   { return l.digest != l.diffID }
func (l *fileLayer) Digest() (v1.Hash, error)           { return l.digest, nil }
func (l *fileLayer) DiffID() (v1.Hash, error)           { return l.diffID, nil }
func (l *fileLayer) Compressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *fileLayer) Size() (int64, error)               { return l.size, nil }

func (l *fileLayer) Uncompressed() (io.ReadCloser, error) {
	in, err := os.Open(l.path)
	if err != nil || !l.compressed() {
		return in, err
	}
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked, in}, nil
}

func (l *fileLayer) MediaType() (types.MediaType, error) {
	if l.compressed() {
		return types.OCILayer, nil
	}
	return types.OCIUncompressedLayer, nil
}

// layer builds the layer, or finds it under a name made of what would go into it.
func (s *Store) layer(files []File) (*fileLayer, error) {
	files = append([]File(nil), files...)
	sort.SliceStable(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	key, err := layerKey(files)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.Dir, "layers", key+".tar")
	if s.Compress {
		path = filepath.Join(s.Dir, "layers", fmt.Sprintf("%s-%d.tar.gz", key, gzipLevel))
	}
	made, err, _ := s.making.Do(path, func() (any, error) {
		if layer, ok := readLayer(path); ok {
			return layer, used(path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("cannot make the layer cache: %w", err)
		}
		layer, err := s.writeLayer(path, files)
		if err != nil {
			return nil, err
		}
		return layer, prune(filepath.Dir(path), time.Now().Add(-unusedFor))
	})
	if err != nil {
		return nil, err
	}
	return made.(*fileLayer), nil
}

// unusedFor is how long a layer that nobody asks for stays in the cache. Every build of a program adds a layer.
const unusedFor = 72 * time.Hour

// used notes on the file of digests that the layer was asked for.
func used(path string) error {
	now := time.Now()
	return os.Chtimes(path+".sha256", now, now)
}

// prune removes layers that nobody has asked for since then. Their digests go first: without them a layer is not there.
func prune(dir string, since time.Time) error {
	digests, err := filepath.Glob(filepath.Join(dir, "*.sha256"))
	if err != nil {
		return err
	}
	for _, path := range digests {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().After(since) {
			continue // another process was faster, or it is in use
		}
		if err != nil {
			return fmt.Errorf("cannot look at the layer cache: %w", err)
		}
		for _, file := range []string{path, strings.TrimSuffix(path, ".sha256")} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot remove a layer that is not used: %w", err)
			}
		}
	}
	return nil
}

// readLayer finds a layer that is complete: its digests are written last, that of the file and, if it is compressed, that of the tar.
func readLayer(path string) (*fileLayer, bool) {
	text, err := os.ReadFile(path + ".sha256")
	if err != nil {
		return nil, false
	}
	digests := strings.Fields(string(text))
	if len(digests) == 0 || len(digests) > 2 {
		return nil, false
	}
	digest, err := v1.NewHash("sha256:" + digests[0])
	if err != nil {
		return nil, false
	}
	diffID, err := v1.NewHash("sha256:" + digests[len(digests)-1])
	if err != nil {
		return nil, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false
	}
	return &fileLayer{path: path, digest: digest, diffID: diffID, size: info.Size()}, true
}

// layerKey changes when any file's place, size, time or mode does.
func layerKey(files []File) (string, error) {
	h := sha256.New()
	for _, f := range files {
		stamp := ""
		if f.Source != "" {
			info, err := os.Stat(f.Source)
			if err != nil {
				return "", fmt.Errorf("an image needs %s: %w", f.Source, err)
			}
			stamp = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
		fmt.Fprintf(h, "%q %q %q %q %o %s\n", f.Path, f.Source, f.Text, f.Link, f.Mode, stamp)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func (s *Store) writeLayer(path string, files []File) (*fileLayer, error) {
	out, err := os.CreateTemp(filepath.Dir(path), "layer-*")
	if err != nil {
		return nil, fmt.Errorf("cannot write a layer: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	digest, diffID := sha256.New(), sha256.New()
	if err := s.write(out, digest, diffID, files); err != nil {
		return nil, err
	}
	info, err := out.Stat()
	if err != nil {
		return nil, err
	}
	if err := os.Rename(out.Name(), path); err != nil {
		return nil, err
	}
	layer := &fileLayer{path: path, digest: sum(digest), diffID: sum(diffID), size: info.Size()}
	digests := layer.digest.Hex
	if layer.compressed() {
		digests += " " + layer.diffID.Hex
	}
	return layer, writeDigests(path+".sha256", digests)
}

func sum(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}

// write writes the layer's file, and into the two what their digests are of.
func (s *Store) write(out, digest, diffID io.Writer, files []File) error {
	file := io.MultiWriter(out, digest)
	if !s.Compress {
		return writeTar(io.MultiWriter(file, diffID), files)
	}
	packed, err := gzip.NewWriterLevel(file, gzipLevel)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(io.MultiWriter(packed, diffID), files), packed.Close())
}

// writeDigests writes all or nothing: another image that has the layer may be reading.
func writeDigests(path, digests string) error {
	out, err := os.CreateTemp(filepath.Dir(path), "digest-*")
	if err != nil {
		return fmt.Errorf("cannot write a layer's digest: %w", err)
	}
	defer os.Remove(out.Name())
	_, err = out.WriteString(digests)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot write a layer's digest: %w", err)
	}
	return os.Rename(out.Name(), path)
}

func writeTar(w io.Writer, files []File) error {
	tw := tar.NewWriter(w)
	made := map[string]bool{}
	for _, f := range files {
		if err := writeParents(tw, made, f.Path); err != nil {
			return err
		}
		if err := writeFile(tw, f); err != nil {
			return fmt.Errorf("cannot put %s into a layer: %w", f.Path, err)
		}
	}
	return tw.Close()
}

func writeParents(tw *tar.Writer, made map[string]bool, path string) error {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		dir := strings.Join(parts[:i], "/") + "/"
		if made[dir] {
			continue
		}
		made[dir] = true
		if err := tw.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: dirMode(dir), ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
	}
	return nil
}

func dirMode(dir string) int64 {
	if dir == "tmp/" {
		return 0o1777
	}
	return 0o755
}

func writeFile(tw *tar.Writer, f File) error {
	mode := int64(f.Mode)
	if mode == 0 {
		mode = 0o755
	}
	header := &tar.Header{Name: f.Path, Mode: mode, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
	switch {
	case f.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.Link
		return tw.WriteHeader(header)
	case f.Source == "":
		header.Size = int64(len(f.Text))
		if err := tw.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.WriteString(tw, f.Text)
		return err
	}
	in, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := tw.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(tw, in)
	return err
}
