package releases

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// mirrorsLifetime is how long an answer is used: mirrors change rarely, and every look at a release asks for them.
const mirrorsLifetime = time.Minute

// mirrorKind is an API that names mirrors of image repositories, and the list in its spec.
type mirrorKind struct {
	schema.GroupVersionKind
	list string
}

// mirrorKinds, the newer one first: where both name a source, its mirrors come first.
var mirrorKinds = []mirrorKind{
	{schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"}, "imageDigestMirrors"},
	{schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy"}, "repositoryDigestMirrors"},
}

// Mirrors reads what the management cluster says about mirrors of image repositories.
type Mirrors struct {
	live  client.Reader
	kinds []mirrorKind
	now   func() time.Time

	mu    sync.Mutex
	until time.Time
	known []release.Mirror
}

// ProbeMirrors finds out which of the APIs the management cluster serves.
func ProbeMirrors(mapper meta.RESTMapper, live client.Reader) (*Mirrors, error) {
	m := &Mirrors{live: live, now: time.Now}
	for _, kind := range mirrorKinds {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ask the management cluster for %s: %w", kind.GroupKind(), err)
		}
		m.kinds = append(m.kinds, kind)
	}
	return m, nil
}

// List returns the mirrors, at most a minute old.
func (m *Mirrors) List(ctx context.Context) ([]release.Mirror, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kinds) == 0 || m.now().Before(m.until) {
		return m.known, nil
	}
	var found []release.Mirror
	for _, kind := range m.kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersionKind)
		if err := m.live.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			found = append(found, mirrorsOf(&list.Items[i], kind.list)...)
		}
	}
	m.known, m.until = found, m.now().Add(mirrorsLifetime)
	return found, nil
}

// mirrorsOf skips entries that are not of the published form: they are somebody else's to repair, and name nothing that can be used.
func mirrorsOf(policy *unstructured.Unstructured, list string) []release.Mirror {
	entries, _, err := unstructured.NestedSlice(policy.Object, "spec", list)
	if err != nil {
		return nil
	}
	var found []release.Mirror
	for _, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		source, _, sourceErr := unstructured.NestedString(fields, "source")
		mirrors, _, mirrorsErr := unstructured.NestedStringSlice(fields, "mirrors")
		if sourceErr == nil && mirrorsErr == nil && source != "" && len(mirrors) > 0 {
			found = append(found, release.Mirror{Source: source, Mirrors: mirrors, Managed: true})
		}
	}
	return found
}
