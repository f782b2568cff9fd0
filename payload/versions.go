package payload

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// The head of a versions file; a reader refuses every other version.
const (
	APIVersion = "payload.hypershift.openshift.io/v1"
	Kind       = "Versions"
)

// Versions says what a release payload of plain Kubernetes is made of.
type Versions struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Release is the version of the payload, in OpenShift's numbers: 4.21 is the minor version of Kubernetes 1.34.
	Release string `json:"release"`
	// Kubernetes is one of those that can be built, such as v1.34.2. The versions of the other programs follow from it.
	Kubernetes string `json:"kubernetes"`
	// NodeImages are the Marketplace images that machines boot from.
	NodeImages NodeImages `json:"nodeImages"`
	// Images are published images that stand in the payload under a key: a reference of a registry, best by digest.
	Images map[string]string `json:"images,omitempty"`
}

// NodeImages are the images of Azure's Marketplace for each architecture.
type NodeImages struct {
	// Stream is the name of the stream that they are of.
	Stream string       `json:"stream"`
	AMD64  *Generations `json:"amd64,omitempty"`
	ARM64  *Generations `json:"arm64,omitempty"`
}

// Generations are the images for each generation of Hyper-V; an architecture may lack one.
type Generations struct {
	Gen1 *NodeImage `json:"gen1,omitempty"`
	Gen2 *NodeImage `json:"gen2,omitempty"`
}

// NodeImage is one of the Marketplace, without a purchase plan.
type NodeImage struct {
	Publisher string `json:"publisher"`
	Offer     string `json:"offer"`
	SKU       string `json:"sku"`
	Version   string `json:"version"`
}

// of are the images for an architecture, nil when there are none.
func (n NodeImages) of(arch string) *Generations {
	return map[string]*Generations{"amd64": n.AMD64, "arm64": n.ARM64}[arch]
}

// Architectures that payloads and images can be made for.
var Architectures = []string{"amd64", "arm64"}

//go:embed versions/*.yaml
var builtIn embed.FS

// BuiltIn are the releases whose versions come with this program, the oldest first.
func BuiltIn() []string {
	entries, err := builtIn.ReadDir("versions")
	if err != nil { // the directory is embedded
		panic(err)
	}
	var releases []string
	for _, e := range entries {
		releases = append(releases, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.SortFunc(releases, func(a, b string) int {
		order, err := version.MustParseSemantic(a).Compare(b)
		if err != nil {
			panic(err) // a test reads every one
		}
		return order
	})
	return releases
}

// Of gives the versions of a release that comes with this program.
func Of(release string) (*Versions, error) {
	text, err := builtIn.ReadFile(path.Join("versions", release+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no release %s comes with this program: choose one of %s, or give a versions file", release, strings.Join(BuiltIn(), ", "))
	}
	return Parse(text)
}

// Parse reads a versions file, YAML or JSON. An unknown member, a second one of the same name or a second document is an error, which
// names the member.
func Parse(raw []byte) (*Versions, error) {
	if documents := bytes.Split(raw, []byte("\n---")); len(documents) > 1 {
		return nil, fmt.Errorf("not a versions file: it has several documents")
	}
	var v Versions
	if err := yaml.UnmarshalStrict(raw, &v); err != nil {
		return nil, fmt.Errorf("not a versions file: %w", err)
	}
	return &v, v.validate()
}

// keyForm is a component's key, as image-references names it.
var keyForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (v *Versions) validate() error {
	if v.APIVersion != APIVersion || v.Kind != Kind {
		return fmt.Errorf("apiVersion %q, kind %q: this program reads %s, %s", v.APIVersion, v.Kind, APIVersion, Kind)
	}
	release, err := version.ParseSemantic(v.Release)
	if err != nil || release.String() != v.Release {
		return fmt.Errorf("release %q is no version such as 4.21.0", v.Release)
	}
	if !slices.Contains(build.KubernetesVersions(), v.Kubernetes) {
		return fmt.Errorf("kubernetes %q cannot be built: choose one of %s", v.Kubernetes, strings.Join(build.KubernetesVersions(), ", "))
	}
	if minor := version.MustParseSemantic(v.Kubernetes).Minor(); release.Major() != 4 || release.Minor()+13 != minor {
		return fmt.Errorf("release %s is not of Kubernetes %s: that is 4.%d", v.Release, v.Kubernetes, minor-13)
	}
	for _, key := range slices.Sorted(maps.Keys(v.Images)) {
		if err := checkGiven(key, v.Images[key]); err != nil {
			return fmt.Errorf("images.%s: %w", key, err)
		}
	}
	return v.NodeImages.validate()
}

// checkGiven judges a published image for a key.
func checkGiven(key, ref string) error {
	if !keyForm.MatchString(key) {
		return fmt.Errorf("%q is no key of a payload: use lower-case letters, digits and hyphens", key)
	}
	if _, err := name.ParseReference(ref, name.StrictValidation); err != nil {
		return fmt.Errorf("%q is no reference such as registry.example.com/name@sha256:...: %w", ref, err)
	}
	return nil
}

func (n NodeImages) validate() error {
	if n.Stream == "" {
		return fmt.Errorf("nodeImages.stream is missing: name the stream that the images are of")
	}
	found := false
	for _, arch := range Architectures {
		of := n.of(arch)
		if of == nil {
			continue
		}
		for generation, image := range map[string]*NodeImage{"gen1": of.Gen1, "gen2": of.Gen2} {
			if image == nil {
				continue
			}
			found = true
			if image.Publisher == "" || image.Offer == "" || image.SKU == "" || image.Version == "" {
				return fmt.Errorf("nodeImages.%s.%s needs publisher, offer, sku and version", arch, generation)
			}
		}
	}
	if !found {
		return fmt.Errorf("nodeImages names no image: give one for amd64 or arm64")
	}
	return nil
}

// With adds published images to those of the file, which they win over.
func (v Versions) With(given map[string]string) (*Versions, error) {
	v.Images = maps.Clone(v.Images)
	if v.Images == nil {
		v.Images = map[string]string{}
	}
	maps.Copy(v.Images, given)
	return &v, v.validate()
}

// ServesMachines refuses architectures that no machine image is named for: a node pool of them would have nothing to boot from.
func (v *Versions) ServesMachines(archs []string) error {
	for _, arch := range archs {
		if of := v.NodeImages.of(arch); of == nil || of.Gen1 == nil && of.Gen2 == nil {
			return fmt.Errorf("nodeImages names no image for %s: add one, or leave the architecture out", arch)
		}
	}
	return nil
}

// Programs are the versions of what the payload's images are made of, by the name of each program.
func Programs(v *Versions) map[string]string {
	versions := map[string]string{}
	for _, p := range (build.Target{Kubernetes: v.Kubernetes}).Programs() {
		if slices.Contains(programs, p.Name) {
			versions[p.Name] = p.Version
		}
	}
	return versions
}

// machineNames are the architectures in the words of stream metadata.
var machineNames = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// stream is the CoreOS stream metadata that names the machine images, in JSON.
func (n NodeImages) stream() (string, error) {
	type object = map[string]any
	architectures := object{}
	for _, arch := range Architectures {
		of := n.of(arch)
		if of == nil {
			continue
		}
		plans := object{}
		if of.Gen1 != nil {
			plans["hyperVGen1"] = of.Gen1
		}
		if of.Gen2 != nil {
			plans["hyperVGen2"] = of.Gen2
		}
		architectures[machineNames[arch]] = object{"rhel-coreos-extensions": object{"marketplace": object{"azure": object{"no-purchase-plan": plans}}}}
	}
	raw, err := json.MarshalIndent(object{"stream": n.Stream, "architectures": architectures}, "", "  ")
	return string(raw), err
}
