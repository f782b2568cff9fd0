// Package operators makes the images that an installation runs and no release payload has: hypershift-operator, control-plane-operator
// and external-dns, of programs built from this project's source and from the module of ExternalDNS.
package operators

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// Names of the images below the path of a registry. `install --image-registry` asks for the same.
const (
	Operator     = "hypershift-operator"
	ControlPlane = "control-plane-operator"
	ExternalDNS  = "external-dns"
)

// Names are the images that are published, with the tag of each.
func Names(version string) map[string]string {
	return map[string]string{Operator: version, ControlPlane: version, ExternalDNS: build.ExternalDNSVersion}
}

// controlPlaneLabels is what the control-plane-operator of this build tells the operator that installs it.
var controlPlaneLabels = map[string]string{
	"io.openshift.hypershift.control-plane-operator-subcommands":                                 "true",
	"io.openshift.hypershift.control-plane-operator-skips-haproxy":                               "true",
	"io.openshift.hypershift.control-plane-operator-supports-kas-custom-kubeconfig":              "true",
	"io.openshift.hypershift.control-plane-operator-applies-management-kas-network-policy-label": "true",
	"io.openshift.hypershift.hosted-cluster-config-operator-reports-node-count":                  "true",
	"io.openshift.hypershift.control-plane-operator.v2-isdefault":                                "true",
	"io.openshift.hypershift.control-plane-operator-manages.decompress-decode-config":            "true",
	"io.openshift.hypershift.restricted-psa":                                                     "true",
}

// labelled adds the label that says which image it is.
func labelled(name string, more map[string]string) map[string]string {
	labels := map[string]string{"io.openshift.build.name": name}
	for key, value := range more {
		labels[key] = value
	}
	return labels
}

// controlPlaneFiles is what runs a control plane.
func controlPlaneFiles(programs string) [][]images.File {
	return [][]images.File{images.Base,
		{{Path: "usr/bin/control-plane-operator", Source: filepath.Join(programs, "control-plane-operator")}},
		{{Path: "usr/bin/etcd-helper", Source: filepath.Join(programs, "etcd-helper")}},
	}
}

// ControlPlaneSpec is the image that runs a control plane, under a name of the caller's: a payload has it by the key hypershift.
// programs is the directory of this project's programs.
func ControlPlaneSpec(name, version, programs string) images.Spec {
	return images.Spec{Name: name, Version: version, User: "1001", Entrypoint: []string{"/usr/bin/control-plane-operator"},
		Layers: controlPlaneFiles(programs), Labels: labelled(name, controlPlaneLabels)}
}

// OperatorSpec is the image that `install` names; it runs the control planes of payloads that have no image for that.
func OperatorSpec(version, programs string) images.Spec {
	return images.Spec{Name: Operator, Version: version, User: "1001", Entrypoint: []string{"/usr/bin/hypershift-operator"},
		Layers: append(controlPlaneFiles(programs), []images.File{{Path: "usr/bin/hypershift-operator", Source: filepath.Join(programs, "hypershift-operator")}}),
		Labels: labelled(Operator, controlPlaneLabels)}
}

// ExternalDNSSpec is the image that `install` names for it; the path of the program is part of what install writes. parts is the
// directory of built parts.
func ExternalDNSSpec(parts string) images.Spec {
	return images.Spec{Name: ExternalDNS, Version: build.ExternalDNSVersion, User: "65534", Entrypoint: []string{"/external-dns"},
		Layers: [][]images.File{images.Base, {{Path: "external-dns", Source: filepath.Join(parts, "external-dns")}}},
		Labels: labelled(ExternalDNS, nil)}
}

// Config says what the images are made of.
type Config struct {
	Version string   // of this project's programs, and the tag of their images
	Source  string   // root of this project's module
	Cache   string   // built parts, programs and layers
	Archs   []string // amd64, arm64
	Store   *images.Store
	Event   func(build.Event) // may be nil; calls do not overlap
}

// Build makes the images, in the order of their names; each is called by its name and tag.
func Build(ctx context.Context, c Config) ([]images.Artifact, error) {
	programs, parts := map[string]string{}, map[string]string{}
	for _, arch := range c.Archs {
		var err error
		target := build.Target{Kubernetes: build.KubernetesVersion, Arch: arch}
		if parts[arch], err = target.Build(ctx, c.Cache, []string{ExternalDNS}, c.Event); err != nil {
			return nil, err
		}
		if programs[arch], err = build.Own(ctx, c.Cache, c.Source, c.Version, arch, c.Event); err != nil {
			return nil, err
		}
	}
	specs := []func(arch string) images.Spec{
		func(arch string) images.Spec { return ControlPlaneSpec(ControlPlane, c.Version, programs[arch]) },
		func(arch string) images.Spec { return ExternalDNSSpec(parts[arch]) },
		func(arch string) images.Spec { return OperatorSpec(c.Version, programs[arch]) },
	}
	made := make([]images.Artifact, len(specs))
	var g errgroup.Group
	for i, spec := range specs {
		g.Go(func() error {
			first := spec(c.Archs[0])
			var err error
			made[i], err = c.Store.Artifact(first.Name+":"+first.Version, c.Archs, func(arch string) (images.Spec, error) { return spec(arch), ctx.Err() })
			return err
		})
	}
	return made, g.Wait()
}

// IsSource tells whether a directory is the root of this project's module.
func IsSource(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s is no source tree of this project: %w", dir, err)
	}
	if !build.IsOwnModule(text) {
		return fmt.Errorf("%s is the source tree of another module", dir)
	}
	return nil
}
