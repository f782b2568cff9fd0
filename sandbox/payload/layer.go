package payload

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A file of a layer: a copy of Source, or the text, or a link.
type file struct {
	Path   string // in the image, without leading slash
	Source string // path on this machine
	Text   string
	Link   string
	Mode   fs.FileMode // 0 is 0755
}

// fileLayer is an uncompressed layer kept as a tar in the cache. The registry is on this machine, so compressing costs
// more than it saves.
type fileLayer struct {
	path string
	hash v1.Hash
	size int64
}

func (l *fileLayer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *fileLayer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *fileLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l *fileLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *fileLayer) Size() (int64, error)                 { return l.size, nil }
func (l *fileLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

// cachedLayer builds the layer, or finds it under a name made of what would go into it.
func cachedLayer(cache string, files []file) (*fileLayer, error) {
	sort.SliceStable(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	key, err := layerKey(files)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(cache, "layers", key+".tar")
	if layer, ok := readLayer(path); ok {
		return layer, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the layer cache: %w", err)
	}
	return writeLayer(path, files)
}

// readLayer finds a layer that is complete: its digest is written last.
func readLayer(path string) (*fileLayer, bool) {
	digest, err := os.ReadFile(path + ".sha256")
	if err != nil {
		return nil, false
	}
	hash, err := v1.NewHash("sha256:" + string(digest))
	if err != nil {
		return nil, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false
	}
	return &fileLayer{path: path, hash: hash, size: info.Size()}, true
}

// layerKey changes when any file's place, size, time or mode does.
func layerKey(files []file) (string, error) {
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

func writeLayer(path string, files []file) (*fileLayer, error) {
	out, err := os.CreateTemp(filepath.Dir(path), "layer-*")
	if err != nil {
		return nil, fmt.Errorf("cannot write a layer: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	h := sha256.New()
	if err := writeTar(io.MultiWriter(out, h), files); err != nil {
		return nil, err
	}
	info, err := out.Stat()
	if err != nil {
		return nil, err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	if err := os.Rename(out.Name(), path); err != nil {
		return nil, err
	}
	if err := writeDigest(path+".sha256", digest); err != nil {
		return nil, err
	}
	return &fileLayer{path: path, hash: v1.Hash{Algorithm: "sha256", Hex: digest}, size: info.Size()}, nil
}

// writeDigest writes all or nothing: another image that has the layer may be reading.
func writeDigest(path, digest string) error {
	out, err := os.CreateTemp(filepath.Dir(path), "digest-*")
	if err != nil {
		return fmt.Errorf("cannot write a layer's digest: %w", err)
	}
	defer os.Remove(out.Name())
	_, err = out.WriteString(digest)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot write a layer's digest: %w", err)
	}
	return os.Rename(out.Name(), path)
}

func writeTar(w io.Writer, files []file) error {
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

func writeFile(tw *tar.Writer, f file) error {
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
