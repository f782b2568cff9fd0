// Package definitions has the definitions of kinds that this program brings to a guest.
package definitions

import (
	"embed"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// Configuration are the kinds of OpenShift's configuration and versions, where no version operator brings them.
func Configuration(*inside.Facts) []client.Object { return copies(configKinds) }

// RequestCounts are kinds that the API server of OpenShift writes, from its first requests on, how often each API is used.
func RequestCounts(*inside.Facts) []client.Object { return copies(requestKinds) }

// Snapshots are the kinds that snapshots of volumes are told in.
func Snapshots(facts *inside.Facts) []client.Object {
	if !facts.HasDisks() {
		return nil
	}
	return copies(snapshotKinds)
}

// What this program carries.
var (
	configKinds   = sync.OnceValue(func() []*unstructured.Unstructured { return read(config.Guest, "guest") })
	requestKinds  = sync.OnceValue(func() []*unstructured.Unstructured { return read(config.OpenShift, "openshift") })
	snapshotKinds = sync.OnceValue(func() []*unstructured.Unstructured { return read(config.Snapshots, "snapshots") })
)

func copies(kinds func() []*unstructured.Unstructured) []client.Object {
	var out []client.Object
	for _, definition := range kinds() {
		out = append(out, definition.DeepCopy())
	}
	return out
}

// read panics on a file that does not parse: it is part of the program.
func read(from embed.FS, folder string) []*unstructured.Unstructured {
	files, err := from.ReadDir(folder)
	if err != nil {
		panic(fmt.Errorf("read the embedded definitions: %w", err))
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		raw, err := from.ReadFile(folder + "/" + file.Name())
		definition := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(raw, &definition.Object)
		}
		if err != nil {
			panic(fmt.Errorf("embedded definition %s: %w", file.Name(), err))
		}
		out = append(out, definition)
	}
	return out
}
