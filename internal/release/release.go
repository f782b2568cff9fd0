// Package release reads release payloads: which version they are, which image runs which component, and which machine images fit.
// Layout: an image that carries `release-manifests/image-references` (an ImageStream) and a ConfigMap with CoreOS stream metadata.
package release

import (
	"context"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
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
	KeyKonnectivity  = contract.ImageKonnectivity
)

// Required are the component images without which no hosted cluster can run on the platform, sorted. Everything else a payload may
// lack: OpenShift's own components exist only on OpenShift payloads, and the operator stands in for a missing `hypershift`.
func Required(platform hyperv1.PlatformType) []string {
	keys := []string{KeyKonnectivity, "coredns", "etcd", contract.ImageRouter, "hyperkube", "pod"}
	if platform == hyperv1.AzurePlatform {
		keys = append(keys, contract.AzureControllerManager, contract.AzureNodeManager, KeyAzureProvider, KeyClusterAPI)
	}
	slices.Sort(keys)
	return keys
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
	// StreamMetadata describes the machine images of the default stream; nil when the payload carries none.
	StreamMetadata *StreamMetadata
	// Streams are the machine images of all streams by name, such as rhel-9; payloads before 5.0 have none.
	Streams map[string]*StreamMetadata
}

// ByDigest is the release image by the digest that its reference led to; the reference itself where it is none.
func (r *Release) ByDigest() string {
	ref, err := name.ParseReference(r.Image)
	if err != nil || r.Digest == "" {
		return r.Image
	}
	return ref.Context().Digest(r.Digest).String()
}

// Stream returns the machine images of a stream; the empty name is the default one. Nil means that the payload has none.
func (r *Release) Stream(name string) *StreamMetadata {
	if name == "" {
		return r.StreamMetadata
	}
	return r.Streams[name]
}

// Missing returns the keys that the payload has no image for, sorted.
func (r *Release) Missing(keys ...string) []string {
	var missing []string
	for _, key := range keys {
		if r.Images[key] == "" {
			missing = append(missing, key)
		}
	}
	slices.Sort(missing)
	return missing
}

// Access is what reading a payload may need beside its name.
type Access struct {
	// PullSecret is the content of a `.dockerconfigjson`; empty means anonymous.
	PullSecret []byte
	// TrustBundle holds PEM certificates trusted in addition to the system's.
	TrustBundle []byte
	// Mirrors are tried before the registry the image names.
	Mirrors []Mirror
	// Tenant is who names the image, a namespace; lookups of one tenant share its Limits.
	Tenant string
	// Recheck asks the registry about a tag although the answer is known, because what it named last was of no use.
	Recheck bool
}

// Provider looks releases up. Errors are *Error.
type Provider interface {
	Lookup(ctx context.Context, image string, access Access) (*Release, error)
}
