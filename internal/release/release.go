// Package release reads release payloads: which version they are, which image runs which component, and which machine images fit.
// Layout: an image that carries `release-manifests/image-references` (an ImageStream) and a ConfigMap with CoreOS stream metadata.
package release

import (
	"context"
	"sort"
)

// Architectures of a payload as `status.payloadArch` shows them.
const (
	ArchMulti   = "Multi"
	ArchAMD64   = "AMD64"
	ArchARM64   = "ARM64"
	ArchPPC64LE = "PPC64LE"
	ArchS390X   = "S390X"
)

// Component keys of a payload that this project reads by name.
const (
	KeyHypershift    = "hypershift"
	KeyClusterAPI    = "cluster-capi-controllers"
	KeyAzureProvider = "azure-cluster-api-controllers"
)

// RequiredKeys are the component images without which no hosted cluster can run on Azure.
var RequiredKeys = []string{
	"apiserver-network-proxy",
	"azure-cloud-controller-manager",
	"azure-cloud-node-manager",
	KeyAzureProvider,
	"cli",
	KeyClusterAPI,
	"coredns",
	"etcd",
	"haproxy-router",
	"hyperkube",
	KeyHypershift,
	"pod",
}

// Release is what a payload says about itself. It is shared between callers: treat it as read-only.
type Release struct {
	// Image is the reference it was read from.
	Image string
	// Digest of the manifest (or manifest list) the reference led to, "sha256:...".
	Digest string
	// Version of the release, e.g. "4.21.0".
	Version string
	// KubernetesVersion without a leading v, e.g. "1.34.2".
	KubernetesVersion string
	// Architecture is one of the Arch constants.
	Architecture string
	// Images maps a component key to its pull spec.
	Images map[string]string
	// ComponentVersions are the versions the payload declares, keyed by component name, e.g. "kubernetes".
	ComponentVersions map[string]string
	// StreamMetadata describes machine images; nil when the payload carries none.
	StreamMetadata *StreamMetadata
}

// Missing returns the keys that the payload has no image for, sorted.
func (r *Release) Missing(keys ...string) []string {
	var missing []string
	for _, key := range keys {
		if r.Images[key] == "" {
			missing = append(missing, key)
		}
	}
	sort.Strings(missing)
	return missing
}

// Access is what reading a payload may need beside its name.
type Access struct {
	// PullSecret is the content of a `.dockerconfigjson`; empty means anonymous.
	PullSecret []byte
	// TrustBundle holds PEM certificates trusted in addition to the system's.
	TrustBundle []byte
}

// Provider looks releases up. Errors are *Error.
type Provider interface {
	Lookup(ctx context.Context, image string, access Access) (*Release, error)
}
