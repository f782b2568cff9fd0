package cluster

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// TestProgramImage: one program that anybody may run, and the same digest for the same program, by which a push that was made is known.
func TestProgramImage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "coredns")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	image, err := programImage(program, "/coredns")
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil || !slices.Equal(config.Config.Entrypoint, []string{"/coredns"}) || config.OS != "linux" {
		t.Errorf("%+v, %v", config, err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	text, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	files := map[string]string{}
	for reader := tar.NewReader(text); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(reader)
		files[header.Name] = string(content)
		if header.Mode&0o055 != 0o055 {
			t.Errorf("%s has mode %o: nobody but root may use it", header.Name, header.Mode)
		}
	}
	if len(files) != 3 || files["coredns"] != "a program" {
		t.Errorf("the image has %q", files)
	}
	again, err := programImage(program, "/coredns")
	if err != nil {
		t.Fatal(err)
	}
	first, _ := image.Digest()
	if second, err := again.Digest(); err != nil || first != second {
		t.Errorf("%s and %s, %v", first, second, err)
	}
	if _, err := programImage(program+"-gone", "/coredns"); err == nil {
		t.Error("an image of a program that is not there")
	}
}

// TestSystemImagesAreRemembered: images of the same programs are not made again; another program has another fingerprint.
func TestSystemImagesAreRemembered(t *testing.T) {
	c := Config{Dir: t.TempDir(), Bin: t.TempDir()}
	programs := []string{"coredns", "local-path-provisioner"}
	for _, program := range programs {
		if err := os.WriteFile(c.bin(program), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := c.fingerprint(programs)
	record := systemRecord{From: before, Images: map[string]string{"coredns": "quay.io/x@sha256:1"}}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := wholefile.WriteIfChanged(c.path("registry", "system-images.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	// There is no registry, so whatever was to be pushed would fail.
	if images, err := PushSystemImages(t.Context(), c); err != nil || images["coredns"] != "quay.io/x@sha256:1" {
		t.Errorf("%v, %v", images, err)
	}
	if err := os.Chtimes(c.bin("coredns"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if c.fingerprint(programs) == before {
		t.Error("a program that was built anew has the fingerprint of before")
	}
	if _, err := PushSystemImages(t.Context(), c); err == nil {
		t.Error("images of another program are taken for those that were made")
	}
}
