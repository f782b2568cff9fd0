package release

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// MirrorsEnv tells programs of a control plane which mirrors the management cluster knows, as FormatMirrors writes them.
const MirrorsEnv = "OPENSHIFT_IMG_OVERRIDES"

// Mirror says where the content of repositories can be had too.
type Mirror struct {
	// Source is a registry, or a repository, or a prefix of repositories that ends at a slash.
	Source string
	// Mirrors stand in for the source, in order of preference.
	Mirrors []string
	// Managed: the management cluster's administrator chose them, so they may be in a private network.
	Managed bool
}

// ContentSources are the mirrors that a hosted cluster's API names.
func ContentSources(sources []hyperv1.ImageContentSource) []Mirror {
	mirrors := make([]Mirror, 0, len(sources))
	for _, source := range sources {
		mirrors = append(mirrors, Mirror{Source: source.Source, Mirrors: source.Mirrors})
	}
	return mirrors
}

// ParseMirrors reads "source=mirror,source=mirror"; a source may repeat to have several mirrors.
func ParseMirrors(text string) ([]Mirror, error) {
	var mirrors []Mirror
	for _, entry := range split(text) {
		source, mirror, ok := strings.Cut(entry, "=")
		if !ok || source == "" || mirror == "" {
			return nil, fmt.Errorf("%q is not of the form source=destination", entry)
		}
		at := slices.IndexFunc(mirrors, func(m Mirror) bool { return m.Source == source })
		if at < 0 {
			mirrors = append(mirrors, Mirror{Source: source, Mirrors: []string{mirror}})
			continue
		}
		mirrors[at].Mirrors = append(mirrors[at].Mirrors, mirror)
	}
	return mirrors, nil
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// FormatMirrors writes what ParseMirrors reads.
func FormatMirrors(mirrors []Mirror) string {
	var entries []string
	for _, m := range mirrors {
		for _, mirror := range m.Mirrors {
			entries = append(entries, m.Source+"="+mirror)
		}
	}
	return strings.Join(entries, ",")
}

// ParseOverrides reads registry overrides, of which each source has one destination.
func ParseOverrides(text string) ([]Mirror, error) {
	overrides, err := ParseMirrors(text)
	if err != nil {
		return nil, err
	}
	for _, override := range overrides {
		if len(override.Mirrors) > 1 {
			return nil, fmt.Errorf("%s has two destinations, %s and %s; keep one", override.Source, override.Mirrors[0], override.Mirrors[1])
		}
	}
	for i := range overrides {
		overrides[i].Managed = true
	}
	return overrides, nil
}

// ParseImages reads component images as "component=image,component=image".
func ParseImages(text string) (map[string]string, error) {
	images := map[string]string{}
	for _, entry := range split(text) {
		component, image, ok := strings.Cut(entry, "=")
		if !ok || component == "" || image == "" {
			return nil, fmt.Errorf("%q is not of the form component=image", entry)
		}
		images[component] = image
	}
	return images, nil
}

// place is one reference of an image; managed as its Mirror.
type place struct {
	image   string
	managed bool
}

// mirrored lists where an image's mirrors have it: those of the longest source that it lies below.
func mirrored(image string, mirrors []Mirror) []place {
	repository, suffix := repositoryOf(image)
	longest, found := -1, []place(nil)
	for _, m := range mirrors {
		source := strings.TrimSuffix(m.Source, "/")
		rest, below := strings.CutPrefix(repository, source)
		if source == "" || !below || (rest != "" && rest[0] != '/') || len(source) < longest {
			continue
		}
		if len(source) > longest {
			longest, found = len(source), nil
		}
		for _, mirror := range m.Mirrors {
			found = append(found, place{strings.TrimSuffix(mirror, "/") + rest + suffix, m.Managed})
		}
	}
	return found
}

// MirrorsOf are the names under which an image may lie elsewhere, in order of preference.
func MirrorsOf(image string, mirrors []Mirror) []string {
	var images []string
	for _, place := range mirrored(image, mirrors) {
		images = append(images, place.image)
	}
	return images
}

// Repository is a reference without its tag or digest.
func Repository(image string) string {
	repository, _ := repositoryOf(image)
	return repository
}

// repositoryOf splits the tag or digest off a reference.
func repositoryOf(image string) (repository, suffix string) {
	end := len(image)
	if at := strings.Index(image, "@"); at >= 0 {
		end = at
	}
	if colon := strings.LastIndex(image[:end], ":"); colon > strings.LastIndex(image[:end], "/") {
		end = colon
	}
	return image[:end], image[end:]
}

// Mirrored adds the mirrors that the management cluster knows to those of each lookup.
type Mirrored struct {
	Source Provider
	// Mirrors asks for them anew each time: they may change while the program runs.
	Mirrors func(context.Context) ([]Mirror, error)
}

var _ Provider = Mirrored{}

// Lookup implements Provider.
func (m Mirrored) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	known, err := m.Mirrors(ctx)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonUnreachable, Cause: fmt.Errorf("read the mirrors of the management cluster: %w", err)}
	}
	access.Mirrors = append(slices.Clone(access.Mirrors), known...)
	return m.Source.Lookup(ctx, image, access)
}

// FromEnvironment is what the programs of a control plane read releases with: proxies and mirrors are in the environment.
func FromEnvironment(getenv func(string) string) (Provider, error) {
	mirrors, err := ParseMirrors(getenv(MirrorsEnv))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", MirrorsEnv, err)
	}
	return Mirrored{Source: NewProvider(), Mirrors: func(context.Context) ([]Mirror, error) { return mirrors, nil }}, nil
}

// Overridden is the view of the management side: payloads and component images come from where the operator's administrator says.
// What runs in hosted clusters must use the view below it.
type Overridden struct {
	Source Provider
	// Registries replaces prefixes of references, each by its only mirror.
	Registries []Mirror
	// Images replaces the images of single components.
	Images map[string]string
}

var _ Provider = Overridden{}

// Lookup implements Provider.
func (o Overridden) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	found, err := o.Source.Lookup(ctx, o.replace(image), access)
	if err != nil || len(o.Registries)+len(o.Images) == 0 {
		return found, err
	}
	view := *found
	view.Image, view.Images = image, make(map[string]string, len(found.Images))
	for key, reference := range found.Images {
		view.Images[key] = o.replace(reference)
	}
	maps.Copy(view.Images, o.Images)
	return &view, nil
}

// Unchanged is the view of hosted clusters: payloads are found in the same places, and their images keep the payload's names.
func (o Overridden) Unchanged() Provider {
	return Mirrored{Source: o.Source, Mirrors: func(context.Context) ([]Mirror, error) { return o.Registries, nil }}
}

func (o Overridden) replace(image string) string {
	if found := mirrored(image, o.Registries); len(found) > 0 {
		return found[0].image
	}
	return image
}
