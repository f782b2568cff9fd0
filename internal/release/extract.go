package release

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
)

const (
	// The real files are below 1 MiB.
	maxFileBytes = 4 << 20
	// A real payload unpacks to half of this, of which its first layer, the last one of the image, is a few MiB.
	maxUnpackedBytes = 1 << 30
	// What runs containers takes no more either.
	maxLayers = 127

	whiteoutPrefix = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

// extraction collects wanted files from the layers of an image.
type extraction struct {
	// open are the files that are neither found nor known to be deleted.
	open  map[string]bool
	found map[string][]byte
}

// extract returns the wanted files of an image. Layers are walked from the top because a payload's files are in its last ones,
// and the walk ends with the layer in which every wanted file is found or known to be deleted. Nothing is written to disk.
func extract(image v1.Image, wanted ...string) (map[string][]byte, error) {
	e := &extraction{open: map[string]bool{}, found: map[string][]byte{}}
	for _, file := range wanted {
		e.open[file] = true
	}
	complete := func() bool { return len(e.open) == 0 }
	if err := eachLayer(image, maxUnpackedBytes, complete, e.archive); err != nil {
		return nil, err
	}
	return e.found, nil
}

// eachLayer reads the layers of an image from its top, until what is wanted of them is complete. left is how many bytes may be unpacked.
func eachLayer(image v1.Image, left int64, complete func() bool, read func(io.Reader) error) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	if len(manifest.Layers) > maxLayers {
		return fmt.Errorf("%w: it has %d layers, more than %d", errUnusable, len(manifest.Layers), maxLayers)
	}
	for _, layer := range slices.Backward(manifest.Layers) {
		if complete() {
			break
		}
		if err := readLayer(image, layer, &left, read); err != nil {
			return err
		}
	}
	return nil
}

// readLayer reads one layer to its end: only then is its digest verified.
func readLayer(image v1.Image, descriptor v1.Descriptor, left *int64, read func(io.Reader) error) error {
	if len(descriptor.URLs) > 0 {
		// The registry library would fetch these addresses from inside the management cluster.
		return fmt.Errorf("%w: layer %s lies outside of the registry", errUnusable, descriptor.Digest)
	}
	if descriptor.Size > *left {
		return fmt.Errorf("%w: layer %s has %d bytes, more than the %d that are left of the limit", errUnusable, descriptor.Digest, descriptor.Size, *left)
	}
	layer, err := image.LayerByDigest(descriptor.Digest)
	if err != nil {
		return err
	}
	source := &wire{Layer: layer}
	defer source.Close()
	unpacker, err := partial.CompressedToLayer(source)
	if err != nil {
		return err
	}
	stream, err := unpacker.Uncompressed()
	if err == nil {
		err = read(&budget{source: stream, left: *left, used: left, what: "the image"})
	}
	if err == nil {
		_, err = io.Copy(io.Discard, source)
	}
	var local *writeError
	switch {
	case source.err != nil:
		// A cut connection or a wrong digest; what the layers above made of it does not count.
		return source.err
	case err == nil, errors.Is(err, errUnusable), errors.As(err, &local):
		return err
	}
	return fmt.Errorf("%w: layer %s is broken: %w", errUnusable, descriptor.Digest, err)
}

// archive reads a layer's content. A later entry of a name replaces an earlier one.
func (e *extraction) archive(stream io.Reader) error {
	found, deleted := map[string][]byte{}, []string{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		deleted = append(deleted, hiddenBy(file, e.open)...)
		if !e.open[file] {
			continue
		}
		if found[file], err = content(archive, header); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for file, bytes := range found {
		e.found[file] = bytes
		delete(e.open, file)
	}
	// A whiteout hides what lies in lower layers, never a file of its own layer.
	for _, file := range deleted {
		delete(e.open, file)
	}
	_, err := io.Copy(io.Discard, stream)
	return err
}

func content(archive *tar.Reader, header *tar.Header) ([]byte, error) {
	if header.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("%w: not a regular file", errUnusable)
	}
	if header.Size > maxFileBytes {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", errUnusable, header.Size, maxFileBytes)
	}
	return io.ReadAll(archive)
}

// hiddenBy returns the wanted files that a whiteout entry hides in lower layers.
func hiddenBy(file string, open map[string]bool) []string {
	directory, base := path.Split(file)
	if !strings.HasPrefix(base, whiteoutPrefix) {
		return nil
	}
	target := directory + strings.TrimPrefix(base, whiteoutPrefix)
	var hidden []string
	for candidate := range open {
		opaque := base == opaqueWhiteout && strings.HasPrefix(candidate, directory)
		if opaque || candidate == target || strings.HasPrefix(candidate, target+"/") {
			hidden = append(hidden, candidate)
		}
	}
	return hidden
}

// wire is a layer that remembers the error of its transfer, to tell a cut connection from broken content.
type wire struct {
	v1.Layer
	stream io.ReadCloser
	err    error
}

// Compressed implements partial.CompressedLayer; it is called once.
func (w *wire) Compressed() (io.ReadCloser, error) {
	w.stream, w.err = w.Layer.Compressed()
	return w, w.err
}

// Read implements io.Reader.
func (w *wire) Read(into []byte) (int, error) {
	n, err := w.stream.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (w *wire) Close() error {
	if w.stream == nil {
		return nil
	}
	return w.stream.Close()
}

// budget fails the read that goes over a limit.
type budget struct {
	source io.Reader
	left   int64
	// used, when set, is kept at what is left.
	used *int64
	what string
}

// Read implements io.Reader.
func (b *budget) Read(into []byte) (int, error) {
	n, err := b.source.Read(into)
	b.left -= int64(n)
	if b.used != nil {
		*b.used = b.left
	}
	if b.left < 0 {
		return 0, fmt.Errorf("%w: %s is too large", errUnusable, b.what)
	}
	return n, err
}
