package install

import "strings"

// GivenImageAnnotation of a Deployment is the name that its image was given, where it is written by digest.
const GivenImageAnnotation = "hypershift.openshift.io/install-image"

// ByDigest is the image with the digest, "sha256:...", in the place of its tag.
func ByDigest(image, digest string) string { return repository(image) + "@" + digest }

// repository is the image without tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[:colon]
	}
	return image
}

// SameRepository tells whether two images are of one repository.
func SameRepository(a, b string) bool { return repository(a) == repository(b) }

// Images are those that the installation runs, as they were given.
func (o *Options) Images() []string {
	images := []string{o.OperatorImage()}
	if o.ExternalDNS.Provider != "" {
		images = append(images, o.ExternalDNS.Image)
	}
	return images
}

// pinned is the image as it is written.
func (o *Options) pinned(image string) string {
	if exact := o.Pinned[image]; exact != "" {
		return exact
	}
	return image
}

// given has the annotation that names the image, where it is written in another way than it was given.
func (o *Options) given(image string, annotations map[string]string) map[string]string {
	if o.pinned(image) == image {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[GivenImageAnnotation] = image
	return annotations
}
