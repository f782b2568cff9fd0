package images

import (
	"archive/tar"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

func testSpec(t *testing.T) func(arch string) (Spec, error) {
	t.Helper()
	self := filepath.Join(t.TempDir(), "self") // a Go program with build information
	if out, err := exec.Command("go", "build", "-o", self, "./testdata/program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(arch string) (Spec, error) {
		return Spec{Name: "sample", Version: "v1", User: "1001", Labels: map[string]string{"a": "b"}, Entrypoint: []string{"/bin/self"}, Cmd: []string{"serve"}, Layers: [][]File{Base, {
			{Path: "bin/self", Source: self}, {Path: "bin/alias", Link: "self"}, {Path: "etc/arch", Text: arch},
			{Path: "usr/sbin/nft", Source: data, Package: &build.DebianPackage{Name: "nftables", Version: "1:1.0.6-2+deb12u2", Arch: arch, Distribution: "debian", SHA256: strings.Repeat("ab", 32)}},
		}}}, nil
	}
}

// TestIndex: an image for several architectures is an OCI index whose children are what it says they are.
func TestIndex(t *testing.T) {
	a, err := (&Store{Dir: t.TempDir(), Compress: true, Bills: true}).Artifact("sample:v1", []string{"amd64", "arm64"}, testSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	index := a.Image.(v1.ImageIndex)
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		child := manifest.Manifests[i]
		img, err := index.Image(child.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if child.Platform.String() != "linux/"+arch || config.OS != "linux" || config.Architecture != arch {
			t.Errorf("%s is for %s/%s", child.Platform, config.OS, config.Architecture)
		}
		if !slices.Equal(config.Config.Entrypoint, []string{"/bin/self"}) || !slices.Equal(config.Config.Cmd, []string{"serve"}) {
			t.Errorf("starts %v %v", config.Config.Entrypoint, config.Config.Cmd)
		}
		if config.Config.User != "1001" || config.Config.Labels["a"] != "b" || !config.Created.IsZero() {
			t.Errorf("configuration %+v, created %s", config.Config, config.Created)
		}
		attached, err := a.Attached[i].Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if attached.Subject == nil || attached.Subject.Digest != child.Digest {
			t.Errorf("the bill of %s is about %v", arch, attached.Subject)
		}
	}
	alone, err := (&Store{Dir: t.TempDir()}).Artifact("sample:v1", []string{"arm64"}, testSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := alone.Image.(v1.Image); !ok || len(alone.Attached) != 0 {
		t.Errorf("for one architecture it is %T with %d bills", alone.Image, len(alone.Attached))
	}
}

// TestReproducible: the same files give the same digests in another cache, at other times of the files and in another order.
func TestReproducible(t *testing.T) {
	spec := testSpec(t)
	var digests, bills []string
	for i := range 2 {
		a, err := (&Store{Dir: t.TempDir(), Compress: true, Bills: true}).Artifact("sample:v1", []string{"amd64", "arm64"}, func(arch string) (Spec, error) {
			s, err := spec(arch)
			if i == 1 {
				slices.Reverse(s.Layers[1])
			}
			return s, err
		})
		if err != nil {
			t.Fatal(err)
		}
		desc, err := a.Describe()
		if err != nil {
			t.Fatal(err)
		}
		bill, err := a.Attached[1].Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests, bills = append(digests, desc.Digest.String()), append(bills, bill.String())
	}
	if digests[0] != digests[1] || bills[0] != bills[1] {
		t.Errorf("digests %v, bills %v", digests, bills)
	}
}

// TestBill: the bill names the modules of the program's own build information and the packages of the distribution.
func TestBill(t *testing.T) {
	spec, err := testSpec(t)("arm64")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := bill(spec, "arm64")
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := json.Unmarshal(raw, &bom); err != nil {
		t.Fatal(err)
	}
	if bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
		t.Errorf("the bill has a number %q, a time %q", bom.SerialNumber, bom.Metadata.Timestamp)
	}
	found := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		found[c.BOMRef] = c
	}
	nft := found["pkg:deb/debian/nftables@1:1.0.6-2%2Bdeb12u2?arch=arm64"]
	if nft.Version != "1:1.0.6-2+deb12u2" || nft.Hashes == nil || (*nft.Hashes)[0].Value != strings.Repeat("ab", 32) {
		t.Errorf("the package is %+v among %d", nft, len(found))
	}
	module := false
	for ref, c := range found {
		module = module || strings.HasPrefix(ref, "pkg:golang/golang.org/x/sync@v") && c.Properties != nil
	}
	if !module || found["file:/bin/self"].Type != cdx.ComponentTypeApplication || (*found["file:/bin/self"].Hashes)[0].Value == "" {
		t.Errorf("the program's modules are not there: %d components", len(found))
	}
}

// TestLayout: images go into a bundle and come out the same, with what is attached to them.
func TestLayout(t *testing.T) {
	a, err := (&Store{Dir: t.TempDir(), Compress: true, Bills: true}).Artifact("sample:v1", []string{"amd64", "arm64"}, testSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	var files [2][]byte
	dir := t.TempDir()
	for i := range files {
		layout, file := filepath.Join(dir, "layout", string(rune('a'+i))), filepath.Join(dir, string(rune('a'+i))+".tar")
		if err := WriteLayout(layout, []Artifact{a}); err != nil {
			t.Fatal(err)
		}
		if err := PackLayout(layout, file); err != nil {
			t.Fatal(err)
		}
		if err := PackLayout(layout, file); err == nil {
			t.Error("a file that is there was overwritten")
		}
		if files[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if string(files[0]) != string(files[1]) {
		t.Error("the same images give two bundles")
	}
	out := filepath.Join(dir, "out")
	if err := UnpackLayout(filepath.Join(dir, "a.tar"), out); err != nil {
		t.Fatal(err)
	}
	read, err := ReadLayout(out)
	if err != nil || len(read) != 1 {
		t.Fatalf("%d images: %v", len(read), err)
	}
	want, err := a.Describe()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read[0].Describe(); err != nil || got.Digest != want.Digest || read[0].Name != "sample:v1" || len(read[0].Attached) != 2 {
		t.Errorf("read %s %s with %d bills, want %s: %v", read[0].Name, got.Digest, len(read[0].Attached), want.Digest, err)
	}
}

// TestHostileBundle: a bundle writes nothing outside of its directory.
func TestHostileBundle(t *testing.T) {
	dir := t.TempDir()
	for name, header := range map[string]*tar.Header{
		"outside":  {Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o644},
		"absolute": {Name: "/tmp/outside", Typeflag: tar.TypeReg, Mode: 0o644},
		"link":     {Name: "blobs", Typeflag: tar.TypeSymlink, Linkname: ".."},
		"nothing":  {Name: "index.json", Typeflag: tar.TypeReg, Mode: 0o644},
	} {
		file := filepath.Join(dir, name+".tar")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		w := tar.NewWriter(out)
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if err := UnpackLayout(file, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "no bundle of images") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "outside")); err == nil {
		t.Error("a bundle wrote outside of its directory")
	}
}

// TestClosure takes programs of this machine, as if a package had brought them under an absolute link.
func TestClosure(t *testing.T) {
	dir := t.TempDir()
	put := func(path, from string) {
		t.Helper()
		target := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(from)
		if err != nil {
			t.Skip(err)
		}
		defer in.Close()
		out, err := os.Create(target)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
	}
	put("usr/bin/program", "/bin/sh")
	program, err := elf.Open(filepath.Join(dir, "usr/bin/program"))
	if err != nil {
		t.Skip(err)
	}
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	if err != nil || len(libraries) == 0 {
		t.Skip("the shell of this machine is linked statically")
	}
	root := &build.DebianRoot{Dir: dir}
	if _, err := Closure(root, []string{"usr/bin/program"}); err == nil || !strings.Contains(err.Error(), libraries[0]) {
		t.Errorf("a missing library: %v", err)
	}
	for _, library := range libraries {
		found, err := filepath.Glob("/usr/lib/*-linux-gnu/" + library)
		if err != nil || len(found) == 0 {
			t.Skip(library + " is not where Debian has it")
		}
		put("lib/x-linux-gnu/real-"+library, found[0])
		if err := os.Symlink("/lib/x-linux-gnu/real-"+library, filepath.Join(dir, "lib/x-linux-gnu", library)); err != nil {
			t.Fatal(err)
		}
	}
	loader := interpreter(program)
	put(strings.TrimPrefix(loader, "/"), loader)
	files, err := Closure(root, []string{"usr/bin/program"})
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]File{}
	for _, f := range files {
		paths[f.Path] = f
	}
	library := paths["usr/lib/x-linux-gnu/"+libraries[0]]
	if library.Source != filepath.Join(dir, "lib/x-linux-gnu/real-"+libraries[0]) {
		t.Errorf("the library is %q: a link was followed out of the packages", library.Source)
	}
	if paths[usrMerged(strings.TrimPrefix(loader, "/"))].Source == "" || paths["lib"].Link != "usr/lib" {
		t.Errorf("the loader %s is not reached: %v", loader, paths)
	}
}
