package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// PackLayout writes the OCI layout of a directory as a tar file, which must not exist. The same layout gives the same file.
func PackLayout(dir, file string) (err error) {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(file)
		}
	}()
	writer := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return packEntry(writer, path, filepath.ToSlash(name), entry)
	})
	if err := errors.Join(err, writer.Close(), out.Close()); err != nil {
		return fmt.Errorf("cannot write the bundle %s: %w", file, err)
	}
	return nil
}

func packEntry(writer *tar.Writer, path, name string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return writer.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: time.Unix(0, 0)})
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := writer.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: info.Size(), Mode: 0o644, ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	_, err = io.Copy(writer, in)
	return err
}

// UnpackLayout writes the OCI layout of a tar file into an empty directory. A file that would lie elsewhere, or that is neither a
// directory nor a plain file, is refused.
func UnpackLayout(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("cannot read the bundle: %w", err)
	}
	defer in.Close()
	for reader := tar.NewReader(in); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpackEntry(reader, header, dir)
		}
		if err != nil {
			return fmt.Errorf("%s is no bundle of images: %w", file, err)
		}
	}
	if !IsLayout(dir) {
		return fmt.Errorf("%s is no bundle of images: it has no file oci-layout", file)
	}
	return nil
}

func unpackEntry(reader io.Reader, header *tar.Header, dir string) error {
	if !filepath.IsLocal(header.Name) {
		return fmt.Errorf("%q lies outside", header.Name)
	}
	path := filepath.Join(dir, header.Name)
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o755)
	case tar.TypeReg:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.CopyN(out, reader, header.Size)
		return errors.Join(err, out.Close())
	}
	return fmt.Errorf("%q is neither a directory nor a plain file", header.Name)
}
