// Package catalog says which images OpenShift's default catalogs of operators are.
package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// The default catalogs, by the names of their CatalogSources and Services.
const (
	RedHat    = "redhat-operators"
	Community = "community-operators"
	Certified = "certified-operators"
)

const (
	registry  = "registry.redhat.io"
	namespace = registry + "/redhat"

	// newest is the minor version of 4 that the newest catalogs are of; those of later releases are the same.
	newest = 22
	// fallbacks are how many minor versions earlier a catalog may be that stands in for one that does not exist.
	fallbacks = 3
)

// Names of the default catalogs.
var Names = []string{Certified, Community, RedHat}

// annotations name the image of a catalog.
var annotations = map[string]string{
	RedHat: hyperv1.RedHatOperatorsCatalogAnnotation, Community: hyperv1.CommunityOperatorsCatalogAnnotation,
	Certified: hyperv1.CertifiedOperatorsCatalogAnnotation,
}

// InControlPlane tells whether catalogs run beside the control plane: the other place is the guest, and users may want none.
func InControlPlane(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Spec.OLMCatalogPlacement != hyperv1.GuestOLMCatalogPlacement && !Disabled(hcp)
}

// Disabled tells whether the user wants none of the default catalogs.
func Disabled(hcp *hyperv1.HostedControlPlane) bool {
	c := hcp.Spec.Configuration
	return c != nil && c.OperatorHub != nil && c.OperatorHub.DisableAllDefaultSources
}

// Explicit are the images that the annotations of a HostedControlPlane name: those of all catalogs, by digest, or none.
func Explicit(of map[string]string) (map[string]string, error) {
	images := map[string]string{}
	for _, name := range Names {
		image := of[annotations[name]]
		if image == "" {
			continue
		}
		if !strings.Contains(image, "@sha256:") {
			return nil, fmt.Errorf("annotation %s=%q names no digest: what a tag leads to may change; use REPOSITORY@sha256:…", annotations[name], image)
		}
		images[name] = image
	}
	if len(images) == 0 {
		return nil, nil
	}
	for _, name := range Names {
		if images[name] == "" {
			return nil, fmt.Errorf("annotation %s is missing: name the images of all default catalogs, or of none", annotations[name])
		}
	}
	return images, nil
}

// Candidates are the images that may be the catalog of a release, the best first: an older catalog stands in for one that does not exist.
// overrides, of annotation olm-catalogs-is-registry-overrides, say which registries have copies.
func Candidates(name, of, overrides string) ([]string, error) {
	parsed, err := version.ParseSemantic(of)
	if err != nil {
		return nil, fmt.Errorf("version %q of the release: %w", of, err)
	}
	repositories, err := repositoriesOf(overrides)
	if err != nil {
		return nil, err
	}
	minor := uint(newest)
	if parsed.Major() == 4 {
		minor = min(minor, parsed.Minor())
	}
	var all []string
	for older := range uint(fallbacks + 1) {
		if older > minor {
			break
		}
		for _, repository := range repositories {
			all = append(all, fmt.Sprintf("%s/%s-operator-index:v4.%d", repository, strings.TrimSuffix(name, "-operators"), minor-older))
		}
	}
	return all, nil
}

// repositoriesOf are the folders of repositories that have catalogs.
func repositoriesOf(overrides string) ([]string, error) {
	if overrides == "" {
		return []string{namespace}, nil
	}
	mirrors, err := release.ParseMirrors(overrides)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", hyperv1.OLMCatalogRegistryOverridesAnnotation, err)
	}
	// What is said of the folder comes before what is said of the whole registry.
	slices.SortStableFunc(mirrors, func(a, b release.Mirror) int { return cmp.Compare(len(b.Source), len(a.Source)) })
	var repositories []string
	for _, m := range mirrors {
		if m.Source != namespace && m.Source != registry {
			continue
		}
		for _, mirror := range m.Mirrors {
			if !strings.Contains(mirror, "/") {
				mirror += "/redhat"
			}
			repositories = append(repositories, mirror)
		}
	}
	if len(repositories) == 0 {
		return []string{namespace}, nil
	}
	return repositories, nil
}
