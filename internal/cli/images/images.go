// Package images has the commands that publish the images an installation runs, and bundle them for who has no source.
package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/operators"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/version"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// NewCommand is images with all its commands.
func NewCommand() *cobra.Command {
	return command.Parent("images", "Publish the operators' images in a registry of your own",
		newPublishCommand(), newBundleCommand())
}

// platforms that images are made for.
var platforms = []string{"linux/amd64", "linux/arm64"}

// making are the flags that say what images are made of.
type making struct {
	source, cache string
	platforms     []string
	archs         []string
}

func (m *making) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.source, "source", "", "source tree to build from (default the checkout of the current directory, else that of this program)")
	cmd.Flags().StringSliceVar(&m.platforms, "platforms", platforms, "platforms of the images")
	registryflags.AddCache(cmd, &m.cache)
}

// complete finds the source tree and reads the platforms. Nothing is built yet.
func (m *making) complete() error {
	found, err := registryflags.Archs("--platforms", m.platforms, platforms)
	if err != nil {
		return err
	}
	for _, platform := range found {
		m.archs = append(m.archs, strings.TrimPrefix(platform, images.OS+"/"))
	}
	m.cache = cmp.Or(m.cache, build.DefaultCache())
	m.source, err = Source(m.source)
	return err
}

// errNoSource is why images cannot be built.
var errNoSource = errors.New("there is no source tree to build the images from: run this in a checkout, name one with --source, or take the bundle of a release with --from")

// Source is the source tree that was named, else the one that the current directory is in, else the one that this program lies in.
func Source(named string) (string, error) {
	if named != "" {
		if err := operators.IsSource(named); err != nil {
			return "", fmt.Errorf("--source: %w", err)
		}
		return named, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("%w (%w)", errNoSource, err)
	}
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("%w (%w)", errNoSource, err)
	}
	for _, from := range []string{dir, filepath.Dir(program)} {
		if found := sourceAbove(from); found != "" {
			return found, nil
		}
	}
	return "", errNoSource
}

// sourceAbove is the source tree that a directory is in; empty when it is in none.
func sourceAbove(dir string) string {
	for operators.IsSource(dir) != nil {
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func (m *making) build(ctx context.Context, event func(build.Event)) ([]images.Artifact, error) {
	return operators.Build(ctx, operators.Config{Version: version.Version, Source: m.source, Cache: m.cache, Archs: m.archs,
		Store: registryflags.Store(m.cache), Event: event})
}

func newBundleCommand() *cobra.Command {
	var m making
	var out string
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Write the operators' images to a file, from which they are published without source",
		Example: `  hypershift images bundle --out hypershift-images.tar
  hypershift images bundle --out hypershift-images.tar --platforms linux/amd64 --source ~/src/hypershift`,
		Long: `Write the operators' images to a file, from which they are published without source.

The file is an OCI layout in a tar archive, with a bill of materials for each image. The same source gives the same file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return errors.New("--out is required: name the file to write")
			}
			if _, err := os.Lstat(out); err == nil {
				return fmt.Errorf("--out %s: the file is there already; remove it, or name another", out)
			}
			if err := m.complete(); err != nil {
				return err
			}
			list, err := m.build(cmd.Context(), registryflags.Building(cmd))
			if err != nil {
				return err
			}
			if err := writeBundle(list, out); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write")
	m.add(cmd)
	return cmd
}

func writeBundle(list []images.Artifact, out string) error {
	dir, err := os.MkdirTemp(filepath.Dir(out), ".bundle-")
	if err != nil {
		return fmt.Errorf("--out %s: %w", out, err)
	}
	defer os.RemoveAll(dir)
	if err := images.WriteLayout(dir, list); err != nil {
		return err
	}
	return images.PackLayout(dir, out)
}

// readBundle reads the images of a bundle, a file or the directory of an OCI layout. close removes what was unpacked.
func readBundle(from string, say io.Writer) (list []images.Artifact, closeBundle func(), err error) {
	closeBundle = func() {}
	dir := from
	if !images.IsLayout(from) {
		if dir, err = os.MkdirTemp("", "hypershift-images-"); err != nil {
			return nil, closeBundle, err
		}
		closeBundle = func() { os.RemoveAll(dir) }
		if err := images.UnpackLayout(from, dir); err != nil {
			return nil, closeBundle, fmt.Errorf("--from: %w", err)
		}
	}
	if list, err = images.ReadLayout(dir); err != nil {
		return nil, closeBundle, fmt.Errorf("--from: %w", err)
	}
	names := map[string]string{} // image -> tag
	for _, a := range list {
		image, tag, _ := strings.Cut(a.Name, ":")
		names[image] = tag
	}
	for image, tag := range operators.Names(version.Version) {
		switch {
		case names[image] == "":
			return nil, closeBundle, fmt.Errorf("--from %s: the bundle has no image %s", from, image)
		case names[image] != tag:
			fmt.Fprintf(say, "warning: the bundle has %s:%s, and 'hypershift install' of this program asks for %s:%s\n", image, names[image], image, tag)
		}
	}
	return list, closeBundle, nil
}
