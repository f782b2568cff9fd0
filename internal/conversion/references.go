package conversion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// believe is how long a definition's label is taken for granted: a list of machines asks once for each.
	believe = time.Minute
	// patience bounds one question: the API server waits ten seconds for its conversion.
	patience = 5 * time.Second
)

// contracts are Cluster API's, in whose names definitions are labelled with the versions to refer to; the latest first.
var contracts = []string{"cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"}

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// references find the version of what an object refers to: v1beta1 writes it down, v1beta2 has it looked up.
type references struct {
	live   client.Reader
	mapper meta.RESTMapper

	mu    sync.Mutex
	known map[schema.GroupKind]known
}

type known struct {
	apiVersion string
	until      time.Time
}

func (r *references) apiVersion(kind schema.GroupKind) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.known[kind]; time.Now().Before(found.until) {
		return found.apiVersion, nil
	}
	latest, err := r.latest(kind)
	if err != nil {
		return "", fmt.Errorf("find the version of %s by which v1beta1 refers to it: %w", kind, err)
	}
	apiVersion := schema.GroupVersion{Group: kind.Group, Version: latest}.String()
	r.known[kind] = known{apiVersion, time.Now().Add(believe)}
	return apiVersion, nil
}

func (r *references) latest(kind schema.GroupKind) (string, error) {
	mapping, err := r.mapper.RESTMapping(kind)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(definitionKind)
	name := mapping.Resource.GroupResource().String()
	if err := r.live.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
		return "", fmt.Errorf("read definition %s: %w", name, err)
	}
	for _, contract := range contracts {
		if versions := definition.Labels[contract]; versions != "" {
			return slices.MaxFunc(strings.Split(versions, "_"), version.CompareKubeAwareVersionStrings), nil
		}
	}
	return "", fmt.Errorf("definition %s has none of the labels %s", name, strings.Join(contracts, ", "))
}
