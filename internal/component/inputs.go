package component

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// MissingInputError names a mounted object that does not exist yet.
type MissingInputError struct {
	Kind, Name string
	// Key is set when the object exists and lacks it.
	Key string
}

// Error says what does not exist yet.
func (e *MissingInputError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("%s %s, which the workload mounts, has no key %s yet", e.Kind, e.Name, e.Key)
	}
	return fmt.Sprintf("%s %s, which the workload mounts, does not exist yet", e.Kind, e.Name)
}

// WaitingError is what a component waits for that is no object of the control-plane namespace.
type WaitingError struct{ For error }

// Error says what is waited for.
func (e *WaitingError) Error() string { return e.For.Error() }

// Unwrap returns the reason for the wait.
func (e *WaitingError) Unwrap() error { return e.For }

// Inputs remembers the content of Secrets and ConfigMaps within a pass. The client's cache lags behind the pass's own writes;
// a hash over what the cache still lacks would restart every pod one pass later.
// It is safe for concurrent use.
type Inputs struct {
	mu      sync.Mutex
	objects map[string]map[string][]byte
}

// Put records an object this pass wrote or read.
func (in *Inputs) Put(objects ...client.Object) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.objects == nil {
		in.objects = map[string]map[string][]byte{}
	}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *corev1.Secret:
			in.objects["Secret/"+o.Name] = merge(o.Data, o.StringData)
		case *corev1.ConfigMap:
			in.objects["ConfigMap/"+o.Name] = merge(o.BinaryData, o.Data)
		}
	}
}

func merge(raw map[string][]byte, text map[string]string) map[string][]byte {
	all := maps.Clone(raw)
	if all == nil {
		all = map[string][]byte{}
	}
	for key, value := range text {
		all[key] = []byte(value)
	}
	return all
}

// ConfigMap is the content of one in the control-plane namespace that a component makes its objects from.
func (c *Context) ConfigMap(name string) (map[string][]byte, error) {
	return c.input("ConfigMap", name)
}

// Secret is the content of one in the control-plane namespace that a component makes its objects from.
func (c *Context) Secret(name string) (map[string][]byte, error) {
	return c.input("Secret", name)
}

func (c *Context) input(kind, name string) (map[string][]byte, error) {
	if data, ok := c.Inputs.Data(kind, name); ok {
		return data, nil
	}
	var obj client.Object = &corev1.Secret{}
	if kind == "ConfigMap" {
		obj = &corev1.ConfigMap{}
	}
	err := c.Client.Get(c, client.ObjectKey{Namespace: c.Namespace(), Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return nil, &MissingInputError{Kind: kind, Name: name}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	c.Inputs.Put(obj)
	data, _ := c.Inputs.Data(kind, name)
	return data, nil
}

// configHash is over every Secret and ConfigMap the pod mounts, except for the content of those it reloads.
func (c *Context) configHash(spec *corev1.PodSpec, reloads []string) (string, error) {
	digest := sha256.New()
	for _, v := range spec.Volumes {
		for _, ref := range referencesOf(v) {
			data, err := c.input(ref.Kind, ref.Name)
			if err != nil {
				if ref.optional {
					continue
				}
				return "", err
			}
			// An empty ConfigMap that someone else fills later is no input yet: the pod could not even mount it.
			for _, key := range ref.keys {
				if _, ok := data[key]; !ok && !ref.optional {
					return "", &MissingInputError{Kind: ref.Kind, Name: ref.Name, Key: key}
				}
			}
			if !slices.Contains(reloads, ref.Name) {
				writeHash(digest, ref.Kind+"/"+ref.Name, data)
			}
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:16], nil
}

func writeHash(w io.Writer, name string, data map[string][]byte) {
	fmt.Fprintf(w, "%s\x00", name)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(w, "%s\x00%d\x00%s", key, len(data[key]), data[key])
	}
}

type reference struct {
	Kind, Name string
	keys       []string
	optional   bool
}

func referencesOf(v corev1.Volume) []reference {
	var refs []reference
	add := func(kind, name string, items []corev1.KeyToPath, optional *bool) {
		r := reference{Kind: kind, Name: name, optional: optional != nil && *optional}
		for _, item := range items {
			r.keys = append(r.keys, item.Key)
		}
		refs = append(refs, r)
	}
	if s := v.Secret; s != nil {
		add("Secret", s.SecretName, s.Items, s.Optional)
	}
	if m := v.ConfigMap; m != nil {
		add("ConfigMap", m.Name, m.Items, m.Optional)
	}
	if v.Projected == nil {
		return refs
	}
	for _, source := range v.Projected.Sources {
		if s := source.Secret; s != nil {
			add("Secret", s.Name, s.Items, s.Optional)
		}
		if m := source.ConfigMap; m != nil && m.Name != contract.KubeRootCA {
			add("ConfigMap", m.Name, m.Items, m.Optional)
		}
	}
	return refs
}

// Data returns what is known of a Secret or ConfigMap.
func (in *Inputs) Data(kind, name string) (map[string][]byte, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	data, ok := in.objects[kind+"/"+name]
	return data, ok
}
