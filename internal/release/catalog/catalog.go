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
	RedHat      = "redhat-operators"
	Community   = "community-operators"
	Certified   = "certified-operators"
	Marketplace = "redhat-marketplace"
)

const (
	registry  = "registry.redhat.io"
	namespace = registry + "/redhat"

	// newest is the minor version of 4 that the newest catalogs are of; those of later releases are the same.
	newest = 22
	// fallbacks are how many minor versions earlier a catalog may be that stands in for one that does not exist.
	fallbacks = 3
)

// Catalog is one of the default catalogs.
type Catalog struct {
	// Name of its CatalogSource, and of its Service beside a control plane.
	Name, DisplayName string
	Priority          int
	// index is the repository of its images, annotation that of the HostedControlPlane that names another image.
	index, annotation string
	// before is the minor version of 4 that has it no more, where there is one.
	before uint
}

var all = []Catalog{
	{Name: Certified, DisplayName: "Certified Operators", Priority: -200, index: "certified-operator-index", annotation: hyperv1.CertifiedOperatorsCatalogAnnotation},
	{Name: Community, DisplayName: "Community Operators", Priority: -400, index: "community-operator-index", annotation: hyperv1.CommunityOperatorsCatalogAnnotation},
	{Name: Marketplace, DisplayName: "Red Hat Marketplace", Priority: -300, index: "redhat-marketplace-index", before: 22},
	{Name: RedHat, DisplayName: "Red Hat Operators", Priority: -100, index: "redhat-operator-index", annotation: hyperv1.RedHatOperatorsCatalogAnnotation},
}

// Of are the default catalogs of a HostedControlPlane whose hosted cluster has a release of the version. Who names the images of the catalogs has
// those that can be named.
func Of(hcp *hyperv1.HostedControlPlane, version string) []Catalog {
	explicit, err := Explicit(hcp.Annotations)
	named := explicit != nil || err != nil
	return slices.DeleteFunc(slices.Clone(all), func(c Catalog) bool {
		gone, err := release.AtLeast(version, 4, c.before)
		return c.before > 0 && (named || err != nil || gone)
	})
}

// Has tells whether the HostedControlPlane has the catalog.
func Has(hcp *hyperv1.HostedControlPlane, version, name string) bool {
	return slices.ContainsFunc(Of(hcp, version), func(c Catalog) bool { return c.Name == name })
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
	for _, c := range all {
		image := of[c.annotation]
		if image == "" {
			continue
		}
		if !strings.Contains(image, "@sha256:") {
			return nil, fmt.Errorf("annotation %s=%q names no digest: what a tag leads to may change; use REPOSITORY@sha256:…", c.annotation, image)
		}
		images[c.Name] = image
	}
	if len(images) == 0 {
		return nil, nil
	}
	for _, c := range all {
		if c.annotation != "" && images[c.Name] == "" {
			return nil, fmt.Errorf("annotation %s is missing: name the images of all default catalogs, or of none", c.annotation)
		}
	}
	return images, nil
}

// InGuest are the images of the catalogs, by name, where they are pods of the guest: those of the annotations, or the default ones. Whether they
// exist is not looked at.
func InGuest(hcp *hyperv1.HostedControlPlane, version string) (map[string]string, error) {
	images, err := Explicit(hcp.Annotations)
	if err != nil || images != nil {
		return images, err
	}
	images = map[string]string{}
	for _, c := range Of(hcp, version) {
		candidates, err := Candidates(c.Name, version, hcp.Annotations[hyperv1.OLMCatalogRegistryOverridesAnnotation])
		if err != nil {
			return nil, err
		}
		images[c.Name] = candidates[0]
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
	var found []string
	for older := range uint(fallbacks + 1) {
		if older > minor {
			break
		}
		for _, repository := range repositories {
			found = append(found, fmt.Sprintf("%s/%s:v4.%d", repository, indexOf(name), minor-older))
		}
	}
	return found, nil
}

func indexOf(name string) string {
	return all[slices.IndexFunc(all, func(c Catalog) bool { return c.Name == name })].index
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
	// The longest source wins: a mirror of a folder comes before one of the whole registry.
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
