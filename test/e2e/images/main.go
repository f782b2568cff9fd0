// Images pushes what the scripts need into the sandbox's registry: releases that differ from a good one, and images with
// another program. It is a client like every other: by name, through the proxy, with the pull secret.
//
//	images release --from REF --to REF [--version V] [--without KEY] [--architecture A] [--replace KEY=REF] [--text FILE=TEXT]
//	images program --from REF --to REF --file PATH=LOCAL
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const referencesFile = "release-manifests/image-references"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options of both commands.
type options struct {
	from, to                       string
	version, without, architecture string
	replace, text, file            string
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name a command: release or program")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.from, "from", "", "image to start from")
	flags.StringVar(&o.to, "to", "", "image to push")
	flags.StringVar(&o.version, "version", "", "version that the release calls itself")
	flags.StringVar(&o.without, "without", "", "image that the release lacks")
	flags.StringVar(&o.architecture, "architecture", "", "architecture that the image says it is for")
	flags.StringVar(&o.replace, "replace", "", "KEY=REF: another image of the release")
	flags.StringVar(&o.text, "text", "", "FILE=TEXT: a file of the release with this content")
	flags.StringVar(&o.file, "file", "", "PATH=LOCAL: a file of the image, from this machine")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	base, auth, err := pull(o.from)
	if err != nil {
		return err
	}
	var layer v1.Layer
	switch args[0] {
	case "release":
		layer, err = releaseLayer(base, o)
	case "program":
		layer, err = programLayer(o.file)
	default:
		err = fmt.Errorf("there is no command %q", args[0])
	}
	if err != nil {
		return err
	}
	return push(base, layer, o, auth)
}

// pull reads an image with the credentials of $PULL_SECRET.
func pull(reference string) (v1.Image, remote.Option, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, nil, err
	}
	raw, err := os.ReadFile(os.Getenv("PULL_SECRET"))
	if err != nil {
		return nil, nil, fmt.Errorf("read the pull secret: %w", err)
	}
	var file struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, nil, fmt.Errorf("the pull secret: %w", err)
	}
	auth := remote.WithAuth(authn.FromConfig(file.Auths[ref.Context().RegistryStr()]))
	image, err := remote.Image(ref, auth)
	return image, auth, err
}

func push(base v1.Image, layer v1.Layer, o options, auth remote.Option) error {
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	if o.architecture != "" {
		config.Architecture = o.architecture
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	to, err := name.ParseReference(o.to)
	if err != nil {
		return err
	}
	if err := remote.Write(to, image, auth); err != nil {
		return err
	}
	fmt.Println(o.to)
	return nil
}

// releaseLayer hides a file of the release behind a changed one.
func releaseLayer(base v1.Image, o options) (v1.Layer, error) {
	if path, text, ok := strings.Cut(o.text, "="); ok {
		return layerOf(path, []byte(text), 0o644)
	}
	raw, err := readFile(base, referencesFile)
	if err != nil {
		return nil, err
	}
	var stream map[string]any
	if err := json.Unmarshal(raw, &stream); err != nil {
		return nil, err
	}
	if o.version != "" {
		stream["metadata"].(map[string]any)["name"] = o.version
	}
	key, image, _ := strings.Cut(o.replace, "=")
	spec := stream["spec"].(map[string]any)
	tags := slices.DeleteFunc(spec["tags"].([]any), func(tag any) bool { return tag.(map[string]any)["name"] == o.without })
	for _, tag := range tags {
		if tag := tag.(map[string]any); tag["name"] == key {
			tag["from"].(map[string]any)["name"] = image
		}
	}
	spec["tags"] = tags
	if raw, err = json.Marshal(stream); err != nil {
		return nil, err
	}
	return layerOf(referencesFile, raw, 0o644)
}

func readFile(image v1.Image, path string) ([]byte, error) {
	content := mutate.Extract(image)
	defer content.Close()
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("the image has no %s: %w", path, err)
		}
		if header.Name == path {
			return io.ReadAll(archive)
		}
	}
}

func programLayer(file string) (v1.Layer, error) {
	path, local, ok := strings.Cut(file, "=")
	if !ok {
		return nil, errors.New("--file is PATH=LOCAL")
	}
	content, err := os.ReadFile(local)
	if err != nil {
		return nil, err
	}
	return layerOf(strings.TrimPrefix(path, "/"), content, 0o755)
}

func layerOf(path string, content []byte, mode int64) (v1.Layer, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	err := w.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(1))
}
