package release

import (
	"context"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Description is what a registry says about an image without a look into its layers.
type Description struct {
	// Digest of the manifest, or of the list, that the reference leads to: "sha256:...".
	Digest string
	// Architectures that the image is there for, as Kubernetes names them.
	Architectures []string
}

// Describe asks the image's registry about it; it reads no layer. Errors are *Error.
func (r Reader) Describe(ctx context.Context, image string, access Access) (*Description, error) {
	client, err := r.client(access)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonInvalidPullSecret, Cause: err}
	}
	defer client.close()
	reference, err := name.ParseReference(image)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonInvalidReference, Cause: err}
	}
	descriptor, err := remote.Get(reference, append(client.options(r.trusts(image)), remote.WithContext(ctx))...)
	if err != nil {
		return nil, remoteError(image, err)
	}
	architectures, err := architecturesOf(descriptor)
	if err != nil {
		return nil, remoteError(image, err)
	}
	return &Description{Digest: descriptor.Digest.String(), Architectures: architectures}, nil
}

func architecturesOf(descriptor *remote.Descriptor) ([]string, error) {
	if !descriptor.MediaType.IsIndex() {
		image, err := descriptor.Image()
		if err != nil {
			return nil, err
		}
		architecture, err := architectureOf(image)
		return []string{strings.ToLower(architecture)}, err
	}
	index, err := descriptor.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, child := range manifest.Manifests {
		if p := child.Platform; p != nil && p.OS == "linux" && !slices.Contains(found, p.Architecture) {
			found = append(found, p.Architecture)
		}
	}
	return found, nil
}
