package payloadrender

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/twin/machineconfig"
)

// TestImagesAreKept: what is on disk is used while it is what was taken, and taken again where somebody changed it. A new renderer begins anew.
func TestImagesAreKept(t *testing.T) {
	counting := &counter{}
	r := newRenderer(t, func(o *Options) { o.Unpacker = counting })
	in := (&payload{version: "4.21.0"}).input(t)
	render := func() {
		t.Helper()
		if _, err := r.Render(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	render()
	render()
	if counting.of(in.Images[contract.ImageMachineConfig]) != 1 || counting.of(in.Images[contract.ImageConfigAPI]) != 1 {
		t.Errorf("taken %v", counting.images)
	}
	for _, kept := range r.images.kept {
		if kept.image == in.Images[contract.ImageMachineConfig] {
			if err := os.WriteFile(filepath.Join(kept.dir, "bin", machineconfig.Operator), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	render()
	if counting.of(in.Images[contract.ImageMachineConfig]) != 2 {
		t.Errorf("a program that was changed is used: %v", counting.images)
	}
	if err := os.Mkdir(filepath.Join(r.WorkDir, workPrefix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := New(r.Options)
	if err != nil {
		t.Fatal(err)
	}
	onlyImages(t, again)
	if left, err := os.ReadDir(filepath.Join(r.WorkDir, "images")); err != nil || len(left) > 0 {
		t.Errorf("images of a former process are kept: %v, %v", left, err)
	}
	for i := range 2 * keptImages {
		other := (&payload{version: "4.21.0", osRelease: fmt.Sprintf("N=%d", i)}).input(t)
		if _, err := r.images.get(t.Context(), other.Images[contract.ImageMachineConfig], in.Access, machineConfigFiles()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(r.WorkDir, "images")); err != nil || len(left) > keptImages {
		t.Errorf("%d images are kept, %v", len(left), err)
	}
}

// counter counts what is taken of images.
type counter struct {
	mu     sync.Mutex
	images []string
}

func (c *counter) Unpack(ctx context.Context, image string, access release.Access, into *os.Root, wanted ...release.Taken) error {
	c.mu.Lock()
	c.images = append(c.images, image)
	c.mu.Unlock()
	return release.Reader{}.Unpack(ctx, image, access, into, wanted...)
}

func (c *counter) of(image string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, taken := range c.images {
		if taken == image {
			n++
		}
	}
	return n
}

// TestProgramOfTheSystem: of an image of RHEL 8 its programs for RHEL 9 run, on RHEL 9 only, and where it has them.
func TestProgramOfTheSystem(t *testing.T) {
	for _, test := range []struct {
		image, own string
		has        bool
		want       string
	}{
		{"8.6", "9.4", true, rhel9}, {"8.6", "9.4", false, ""}, {"9.4", "9.4", true, ""}, {"8.6", "8", true, ""}, {"8.6", "10.0", true, ""},
	} {
		own := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(own, []byte("ID=rhel\nVERSION_ID=\""+test.own+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &payload{version: "4.15.0", osRelease: "VERSION_ID='" + test.image + "'\n", programs: map[string]string{}}
		if test.has {
			p.programs[machineconfig.Operator+rhel9] = "#!/bin/sh\n"
		}
		in := p.input(t)
		r := newRenderer(t, func(o *Options) { o.OSRelease = own })
		image, err := r.images.get(t.Context(), in.Images[contract.ImageMachineConfig], in.Access, machineConfigFiles())
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.images.program(image, machineconfig.Operator)
		if err != nil || filepath.Base(got) != machineconfig.Operator+test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
}

// FuzzOSRelease: whatever an image says of its system, a program of it is chosen.
func FuzzOSRelease(f *testing.F) {
	f.Add([]byte("VERSION_ID=\"8.10\"\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if major := majorOf(content); strings.ContainsAny(major, ".\n") {
			t.Errorf("major %q", major)
		}
	})
}
