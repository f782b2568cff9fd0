package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// billSuffix ends the name of a bill of materials.
const billSuffix = ".cdx.json"

// billOf is the CycloneDX document of a Go program: its modules as the program itself names them, with the checksums of go.sum, and Go. It
// has no time and no random number: the same program has the same bill.
func billOf(binary, program, version, platform string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built of: %w", program, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(content)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: program, Type: cdx.ComponentTypeApplication, Name: program, Version: version,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		Properties: &[]cdx.Property{{Name: "golang:package", Value: info.Path}, {Name: "golang:version", Value: info.GoVersion}, {Name: "golang:platform", Value: platform}},
	}}
	components := []cdx.Component{{BOMRef: "pkg:golang/std@" + info.GoVersion, Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion}}
	for _, module := range info.Deps {
		components = append(components, componentOf(module))
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	refs := make([]string, 0, len(components))
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: program, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("encode the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

func componentOf(module *debug.Module) cdx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	purl := "pkg:golang/" + module.Path + "@" + module.Version
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: purl}
	if module.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "golang:module:sum", Value: module.Sum}}
	}
	return c
}
