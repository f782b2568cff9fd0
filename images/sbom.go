package images

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// BillType is the media type of a bill of materials, and the artifact type of the image that carries it.
const BillType = "application/vnd.cyclonedx+json"

// goSumProperty carries a module's checksum as go.sum has it: no hash that CycloneDX knows.
const goSumProperty = "golang:module:sum"

// bill is the CycloneDX document of an image: the Go programs with the modules that their own build information names, and the
// packages of a distribution that files are of. It has no time and no random number: the same image has the same bill.
func bill(spec Spec, arch string) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: "image", Type: cdx.ComponentTypeContainer, Name: spec.Name, Version: spec.Version,
		Properties: &[]cdx.Property{{Name: "oci:platform", Value: OS + "/" + arch}}}}
	components := map[string]cdx.Component{}
	var dependencies []cdx.Dependency
	for _, f := range slices.Concat(spec.Layers...) {
		switch {
		case f.Package != nil:
			p := *f.Package
			c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version,
				PackageURL: fmt.Sprintf("pkg:deb/%s/%s@%s?arch=%s", p.Distribution, p.Name, purlVersion(p.Version), p.Arch),
				Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: p.SHA256}}}
			c.BOMRef = c.PackageURL
			components[c.BOMRef] = c
		case f.Source != "":
			dependency, err := addProgram(components, f)
			if err != nil {
				return nil, fmt.Errorf("bill of materials of image %s: %w", spec.Name, err)
			}
			dependencies = append(dependencies, dependency)
		}
	}
	list := make([]cdx.Component, 0, len(components))
	for _, c := range components {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	slices.SortFunc(dependencies, func(a, b cdx.Dependency) int { return strings.Compare(a.Ref, b.Ref) })
	bom.Components, bom.Dependencies = &list, &dependencies
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

// addProgram adds a program and its modules. A file that is no Go program is named by its hash alone.
func addProgram(components map[string]cdx.Component, f File) (cdx.Dependency, error) {
	digest, err := sha256Of(f.Source)
	if err != nil {
		return cdx.Dependency{}, err
	}
	program := cdx.Component{BOMRef: "file:/" + f.Path, Type: cdx.ComponentTypeApplication, Name: f.Path,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}}}
	dependency := cdx.Dependency{Ref: program.BOMRef}
	if info, err := buildinfo.ReadFile(f.Source); err == nil {
		program.Version = info.Main.Version
		program.Properties = &[]cdx.Property{{Name: "golang:package", Value: info.Path}, {Name: "golang:version", Value: info.GoVersion}}
		var refs []string
		for _, module := range info.Deps {
			c := moduleComponent(module)
			components[c.BOMRef] = c
			refs = append(refs, c.BOMRef)
		}
		slices.Sort(refs)
		dependency.Dependencies = &refs
	}
	components[program.BOMRef] = program
	return dependency, nil
}

// moduleComponent is a module as it was compiled: what replaces another is named itself.
func moduleComponent(module *debug.Module) cdx.Component {
	for module.Replace != nil {
		module = module.Replace
	}
	purl := "pkg:golang/" + module.Path
	if module.Version != "" {
		purl += "@" + purlVersion(module.Version)
	}
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: purl}
	if module.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: goSumProperty, Value: module.Sum}}
	}
	return c
}

func sha256Of(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// attachedBill is the bill of an image as an OCI artifact whose subject is the image.
func attachedBill(spec Spec, arch string, img v1.Image) (v1.Image, error) {
	document, err := bill(spec, arch)
	if err != nil {
		return nil, err
	}
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, err
	}
	// The registry client copies the artifact type of the fallback index from the configuration's media type: it is the same.
	return newAttachment(v1.Descriptor{MediaType: subject.MediaType, Size: subject.Size, Digest: subject.Digest}, document)
}

// attachment is an image manifest that carries a bill about its subject.
type attachment struct {
	manifest []byte
	config   []byte
	layer    v1.Layer
}

func newAttachment(subject v1.Descriptor, document []byte) (v1.Image, error) {
	a := &attachment{config: []byte("{}"), layer: static.NewLayer(document, types.MediaType(BillType))}
	layer, err := partial.Descriptor(a.layer)
	if err != nil {
		return nil, err
	}
	digest, size, err := v1.SHA256(bytes.NewReader(a.config))
	if err != nil {
		return nil, err
	}
	a.manifest, err = json.Marshal(struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     types.MediaType   `json:"mediaType"`
		ArtifactType  string            `json:"artifactType"`
		Config        v1.Descriptor     `json:"config"`
		Layers        []v1.Descriptor   `json:"layers"`
		Subject       v1.Descriptor     `json:"subject"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: BillType,
		Config: v1.Descriptor{MediaType: types.MediaType(BillType), Size: size, Digest: digest},
		Layers: []v1.Descriptor{*layer}, Subject: subject})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(a)
}

func (a *attachment) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a *attachment) RawConfigFile() ([]byte, error)      { return a.config, nil }
func (a *attachment) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a *attachment) ArtifactType() (string, error)       { return BillType, nil }
func (a *attachment) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if digest, err := a.layer.Digest(); err != nil || digest != h {
		return nil, fmt.Errorf("the attachment has no layer %s", h)
	}
	return a.layer, nil
}

// purlVersion is a version as package URLs have it: with every plus escaped, which some readers take for a space.
func purlVersion(version string) string {
	return strings.ReplaceAll(url.PathEscape(version), "+", "%2B")
}
