package clusterconfig

import (
	"fmt"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	// catalogRegistry has the default catalogs, in catalogOrganization.
	catalogRegistry     = "registry.redhat.io"
	catalogOrganization = "/redhat"
	// newestCatalog is the newest minor version of release 4 that has catalogs; later releases use its.
	newestCatalog = 22
)

// Catalog is one of the default catalogs of operators.
type Catalog struct {
	// Name of its CatalogSource, and of its Service beside a control plane.
	Name, DisplayName string
	Priority          int
	index, annotation string
}

// Catalogs are the default ones.
func Catalogs() []Catalog {
	return []Catalog{
		{Name: "certified-operators", DisplayName: "Certified Operators", Priority: -200, index: "certified-operator-index", annotation: hyperv1.CertifiedOperatorsCatalogAnnotation},
		{Name: "community-operators", DisplayName: "Community Operators", Priority: -400, index: "community-operator-index", annotation: hyperv1.CommunityOperatorsCatalogAnnotation},
		{Name: "redhat-operators", DisplayName: "Red Hat Operators", Priority: -100, index: "redhat-operator-index", annotation: hyperv1.RedHatOperatorsCatalogAnnotation},
	}
}

// CatalogImages are the images of the catalogs, by name, for a release of the version: those of the user's annotations, or the default ones
// from the user's registry. Whether they exist is not looked at.
func CatalogImages(hcp *hyperv1.HostedControlPlane, version string) (map[string]string, error) {
	out := map[string]string{}
	for _, catalog := range Catalogs() {
		own := hcp.Annotations[catalog.annotation]
		if own == "" {
			continue
		}
		if !strings.Contains(own, "@sha256:") {
			return nil, fmt.Errorf("annotation %s names image %q by no digest: give NAME@sha256:DIGEST", catalog.annotation, own)
		}
		out[catalog.Name] = own
	}
	if len(out) == len(Catalogs()) {
		return out, nil
	}
	if len(out) > 0 {
		return nil, fmt.Errorf("%d of the annotations %s, %s and %s are set: set all of them or none", len(out),
			hyperv1.CertifiedOperatorsCatalogAnnotation, hyperv1.CommunityOperatorsCatalogAnnotation, hyperv1.RedHatOperatorsCatalogAnnotation)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return nil, fmt.Errorf("choose the catalogs of version %q: %w; the version of a release begins with two numbers", version, err)
	}
	if major > 4 || minor > newestCatalog {
		major, minor = 4, newestCatalog
	}
	registry, err := catalogsFrom(hcp.Annotations[hyperv1.OLMCatalogRegistryOverridesAnnotation])
	if err != nil {
		return nil, err
	}
	for _, catalog := range Catalogs() {
		out[catalog.Name] = fmt.Sprintf("%s/%s:v%d.%d", registry, catalog.index, major, minor)
	}
	return out, nil
}

// catalogsFrom is where the default catalogs are, with overrides SOURCE=DESTINATION, comma-separated: those of the registry, or of the
// organization in it, count.
func catalogsFrom(overrides string) (string, error) {
	registry := catalogRegistry + catalogOrganization
	for _, override := range strings.Split(overrides, ",") {
		override = strings.TrimSpace(override)
		source, destination, found := strings.Cut(override, "=")
		switch {
		case override == "":
			continue
		case !found || source == "" || destination == "":
			return "", fmt.Errorf("annotation %s has %q: write SOURCE=DESTINATION, comma-separated", hyperv1.OLMCatalogRegistryOverridesAnnotation, override)
		case source != catalogRegistry && source != catalogRegistry+catalogOrganization:
			continue
		case strings.Contains(destination, "/"):
			return destination, nil
		}
		registry = destination + catalogOrganization
	}
	return registry, nil
}
