package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"time"
)

// file of an archive.
type file struct {
	path    string
	mode    int64
	content []byte
}

// linuxOnly tells whether it describes commands that other systems do not have.
func (f file) linuxOnly() bool { return strings.HasPrefix(f.path, "man/man1/hypershift-sandbox-") }

// archiveOf is a compressed tar of the files: sorted, of one time and of nobody, so that the same files give the same bytes.
func archiveOf(files []file, at time.Time) ([]byte, error) {
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	for _, f := range sorted {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
