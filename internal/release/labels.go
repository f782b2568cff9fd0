package release

import (
	"context"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// LabelPrefix begins the labels with which the image of a control-plane operator tells what it can do; their value is "true".
const LabelPrefix = "io.openshift.hypershift."

// LabelRestricted tells that a control plane of this operator runs under the restricted pod security standard.
const LabelRestricted = LabelPrefix + "restricted-psa"

const labelCacheBytes = 1 << 20

// Labeler reads what the images of control-plane operators tell about themselves. Errors are *Error.
type Labeler interface {
	Labels(ctx context.Context, image string, access Access) (map[string]string, error)
}

// LabelCache remembers labels, bounded by the memory they take.
type LabelCache struct {
	source Labeler
	memory[map[string]string]
}

var (
	_ Labeler = Reader{}
	_ Labeler = &LabelCache{}
)

// NewLabelCache puts a bounded cache in front of source.
func NewLabelCache(source Labeler) *LabelCache {
	return &LabelCache{source: source, memory: newMemory(labelCacheBytes, sizeOf)}
}

// Labels implements Labeler.
func (c *LabelCache) Labels(ctx context.Context, image string, access Access) (map[string]string, error) {
	return c.lookup(ctx, image, access, c.source.Labels)
}

// Labels implements Labeler: it reads no layer. Labels without LabelPrefix are left out.
func (r Reader) Labels(ctx context.Context, image string, access Access) (map[string]string, error) {
	return fromMirrors(ctx, r, mirrorTimeout, image, access, readLabels)
}

func readLabels(ctx context.Context, image string, options []remote.Option) (map[string]string, *Error) {
	config, err := readConfig(ctx, image, options)
	if err != nil {
		if err.Reason == ReasonNotAPayload {
			err.Reason = ReasonNotAnImage
		}
		return nil, err
	}
	labels := map[string]string{}
	for key, value := range config.Config.Labels {
		if strings.HasPrefix(key, LabelPrefix) {
			labels[key] = value
		}
	}
	return labels, nil
}

func readConfig(ctx context.Context, image string, options []remote.Option) (*v1.ConfigFile, *Error) {
	pulled, failure := find(ctx, image, options)
	if failure != nil {
		return nil, failure
	}
	config, err := boundedConfig(pulled.Image)
	if err != nil {
		return nil, remoteError(image, err)
	}
	return config, nil
}

// ParseLabels reads "label=value,label=value".
func ParseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(entry, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("%q is not of the form label=value", entry)
		}
		labels[key] = strings.TrimSpace(value)
	}
	return labels, nil
}
