package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	checksumsFile = "checksums.txt"
	imagesSuffix  = "-images.tar" // after the program's name
)

// release is one release of a program.
type release struct {
	source, version, ldflags, dist string
	platforms                      []string
	at                             time.Time
	// root describes the program's commands, for completions and manual pages.
	root *cobra.Command
	// images writes the operators' images to a file, for who publishes them without source.
	images func(ctx context.Context, path string) error
}

// program is its name.
func (r release) program() string { return filepath.Base(r.source) }

// make builds everything and writes the checksums last: where they are, the release is whole.
func (r release) make(ctx context.Context) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := r.clear(); err != nil {
		return err
	}
	described, err := r.describe()
	if err != nil {
		return err
	}
	var names []string
	for _, platform := range r.platforms {
		made, err := r.makeFor(ctx, platform, described)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		names = append(names, made...)
	}
	images := r.program() + imagesSuffix
	fmt.Fprintln(os.Stderr, images)
	if err := r.images(ctx, filepath.Join(r.dist, images)); err != nil {
		return fmt.Errorf("%s: %w", images, err)
	}
	return r.writeChecksums(append(names, images))
}

// makeFor builds for one platform and returns the names of the files that it wrote.
func (r release) makeFor(ctx context.Context, platform string, described []file) ([]string, error) {
	system, arch, _ := strings.Cut(platform, "/")
	folder, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, r.program())
	fmt.Fprintf(os.Stderr, "%s %s for %s\n", r.program(), r.version, platform)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", r.ldflags, "-o", binary, r.source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	bill, err := billOf(binary, r.program(), r.version, platform)
	if err != nil {
		return nil, err
	}
	files := slices.Concat(described, []file{{path: r.program(), mode: 0o755, content: content}})
	if system != "linux" {
		files = slices.DeleteFunc(files, file.linuxOnly)
	}
	archive, err := archiveOf(files, r.at)
	if err != nil {
		return nil, err
	}
	name := strings.Join([]string{r.program(), r.version, system, arch}, "_")
	out := map[string][]byte{name + ".tar.gz": archive, name + billSuffix: bill}
	var names []string
	for name, content := range out {
		if err := os.WriteFile(filepath.Join(r.dist, name), content, 0o644); err != nil {
			return nil, fmt.Errorf("write the release: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

// writeChecksums writes them as sha256sum does, sorted by name.
func (r release) writeChecksums(names []string) error {
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(r.dist, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), name)
	}
	path := filepath.Join(r.dist, checksumsFile)
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	return nil
}
