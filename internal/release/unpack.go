package release

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	// An operator's image unpacks to some GiB, of which each layer may have to be read.
	maxImageBytes = 8 << 30
	// Programs have up to 150 MiB each.
	maxTakenBytes = 2 << 30
	maxTakenFiles = 10000
	// unpackPatience is how long a mirror has for an image of that size.
	unpackPatience = 5 * time.Minute
)

// Taken says what of an image is written to disk.
type Taken struct {
	// From is a file of the image or, where it ends with a slash, everything below a directory.
	From string
	// To is the file, or the directory, that it becomes.
	To string
	// Mode of the files.
	Mode os.FileMode
	// Optional: the image may lack it.
	Optional bool
}

// Unpacker takes files out of images. Errors are *Error, but those of the disk.
type Unpacker interface {
	Unpack(ctx context.Context, image string, access Access, into *os.Root, wanted ...Taken) error
}

var (
	_ Unpacker = Reader{}
	_ Unpacker = MirroredUnpacker{}
)

// Unpack writes regular files of an image into a directory, which has nothing else in the end. What is there is to be used only without an
// error: until then it may be of a layer whose digest is wrong.
func (r Reader) Unpack(ctx context.Context, image string, access Access, into *os.Root, wanted ...Taken) error {
	_, err := fromMirrors(ctx, r, unpackPatience, image, access, func(ctx context.Context, image string, options []remote.Option) (struct{}, *Error) {
		pulled, failure := find(ctx, image, options)
		if failure != nil {
			return struct{}{}, failure
		}
		if err := emptied(into); err != nil { // of a mirror before this one
			return struct{}{}, remoteError(image, err)
		}
		u := newUnpacking(wanted, createIn(into))
		if err := eachLayer(pulled.Image, maxImageBytes, u.complete, u.archive); err != nil {
			return struct{}{}, remoteError(image, err)
		}
		if missing := u.missing(); len(missing) > 0 {
			return struct{}{}, &Error{Image: image, Reason: ReasonNotAPayload, Cause: fmt.Errorf("it has no %s", strings.Join(missing, ", "))}
		}
		return struct{}{}, nil
	})
	return err
}

// MirroredUnpacker adds the mirrors that the management cluster knows to those of each image.
type MirroredUnpacker struct {
	Source  Unpacker
	Mirrors []Mirror
}

// Unpack implements Unpacker.
func (m MirroredUnpacker) Unpack(ctx context.Context, image string, access Access, into *os.Root, wanted ...Taken) error {
	access.Mirrors = append(slices.Clone(access.Mirrors), m.Mirrors...)
	return m.Source.Unpack(ctx, image, access, into, wanted...)
}

// UnpackerFromEnvironment is FromEnvironment for programs that take files out of a payload's images.
func UnpackerFromEnvironment(getenv func(string) string) (Unpacker, error) {
	mirrors, err := ParseMirrors(getenv(MirrorsEnv))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", MirrorsEnv, err)
	}
	return MirroredUnpacker{Source: Reader{}, Mirrors: mirrors}, nil
}

// writeError is a failed write to the local disk; the image is not at fault.
type writeError struct{ cause error }

func (e *writeError) Error() string { return e.cause.Error() }
func (e *writeError) Unwrap() error { return e.cause }

func emptied(root *os.Root) error {
	directory, err := root.Open(".")
	if err != nil {
		return err
	}
	defer directory.Close()
	names, err := directory.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, root.RemoveAll(name))
	}
	return err
}

// createIn makes files below a directory, and the directories on the way.
func createIn(root *os.Root) func(string, os.FileMode) (io.WriteCloser, error) {
	return func(name string, mode os.FileMode) (io.WriteCloser, error) {
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return nil, err
		}
		return root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	}
}

// unpacking writes what is wanted of an image, whose layers it is given from the top.
type unpacking struct {
	wanted []Taken
	create func(name string, mode os.FileMode) (io.WriteCloser, error)
	// taken are the image's files that were written, hidden the paths that lower layers cannot have any more; one with a slash at its end
	// hides what is below it.
	taken, hidden map[string]bool
	// left is how many bytes may still be written.
	left int64
}

func newUnpacking(wanted []Taken, create func(string, os.FileMode) (io.WriteCloser, error)) *unpacking {
	return &unpacking{wanted: wanted, create: create, taken: map[string]bool{}, hidden: map[string]bool{}, left: maxTakenBytes}
}

// complete: no lower layer can have more of it.
func (u *unpacking) complete() bool {
	return !slices.ContainsFunc(u.wanted, func(t Taken) bool {
		return strings.HasSuffix(t.From, "/") || !u.settled(t.From)
	})
}

// missing are what must be there and is not.
func (u *unpacking) missing() []string {
	var out []string
	for _, t := range u.wanted {
		found := u.taken[t.From]
		if strings.HasSuffix(t.From, "/") {
			for file := range u.taken {
				found = found || strings.HasPrefix(file, t.From)
			}
		}
		if !found && !t.Optional {
			out = append(out, t.From)
		}
	}
	return out
}

// settled: an upper layer has the path, or has deleted it or a directory above it, or has a file in the place of one.
func (u *unpacking) settled(file string) bool {
	if u.taken[file] || u.hidden[file] || u.hidden[""] {
		return true
	}
	for above := path.Dir(file); above != "."; above = path.Dir(above) {
		if u.taken[above] || u.hidden[above] || u.hidden[above+"/"] {
			return true
		}
	}
	return false
}

// target is where a file of the image goes; empty where nobody wants it.
func (u *unpacking) target(file string) (string, os.FileMode) {
	for _, t := range u.wanted {
		if rest, below := strings.CutPrefix(file, t.From); below && rest != "" && strings.HasSuffix(t.From, "/") {
			return path.Join(t.To, rest), t.Mode
		}
		if t.From == file {
			return t.To, t.Mode
		}
	}
	return "", 0
}

// archive reads a layer's content. A later entry of a name replaces an earlier one.
func (u *unpacking) archive(stream io.Reader) error {
	own, deleted := map[string]bool{}, []string{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if directory, base := path.Split(file); strings.HasPrefix(base, whiteoutPrefix) {
			deleted = append(deleted, whiteout(directory, base))
			continue
		}
		to, mode := u.target(file)
		if to == "" || header.Typeflag == tar.TypeDir || u.settled(file) {
			continue
		}
		if err := u.write(archive, header, to, mode); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		own[file] = true
		if len(own)+len(u.taken) > maxTakenFiles {
			return fmt.Errorf("%w: it has more than %d files", errUnusable, maxTakenFiles)
		}
	}
	for file := range own {
		u.taken[file] = true
	}
	// A whiteout hides what lies in lower layers, never a file of its own layer.
	for _, file := range deleted {
		u.hidden[file] = true
	}
	_, err := io.Copy(io.Discard, stream)
	return err
}

// whiteout is what an entry of this name hides.
func whiteout(directory, base string) string {
	if base == opaqueWhiteout {
		return directory
	}
	return directory + strings.TrimPrefix(base, whiteoutPrefix)
}

func (u *unpacking) write(archive *tar.Reader, header *tar.Header, to string, mode os.FileMode) (err error) {
	switch {
	case header.Typeflag != tar.TypeReg || isSparse(header):
		return fmt.Errorf("%w: not a regular file", errUnusable)
	case !filepath.IsLocal(to):
		return fmt.Errorf("%w: not a path below a directory", errUnusable)
	case header.Size > u.left:
		return fmt.Errorf("%w: %d bytes are more than the %d that are left of the limit", errUnusable, header.Size, u.left)
	}
	u.left -= header.Size
	out, err := u.create(to, mode)
	if err != nil {
		return &writeError{err}
	}
	defer func() {
		if closed := out.Close(); err == nil && closed != nil {
			err = &writeError{closed}
		}
	}()
	if written, err := io.Copy(writer{out}, archive); err != nil {
		return err
	} else if written != header.Size {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// isSparse: the file would be larger than what the layer has of it, by as much as the layer says.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// writer tells the disk's errors from those of the source.
type writer struct{ io.Writer }

// Write implements io.Writer.
func (w writer) Write(content []byte) (int, error) {
	n, err := w.Writer.Write(content)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}
