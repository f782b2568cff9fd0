package addons

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

// definitions are the kinds of OpenShift's configuration and versions, where no version operator brings them.
func definitions(*inside.Facts) []client.Object { return definitionsIn(configKinds) }

// requestCounts are kinds that the API server of OpenShift writes, from its first requests on, how often each API is used.
func requestCounts(*inside.Facts) []client.Object { return definitionsIn(requestKinds) }

// Definitions that this program carries.
var (
	configKinds   = sync.OnceValue(func() []*unstructured.Unstructured { return readDefinitions(config.Guest, "guest") })
	requestKinds  = sync.OnceValue(func() []*unstructured.Unstructured { return readDefinitions(config.OpenShift, "openshift") })
	snapshotKinds = sync.OnceValue(func() []*unstructured.Unstructured { return readDefinitions(config.Snapshots, "snapshots") })
)

func definitionsIn(read func() []*unstructured.Unstructured) []client.Object {
	var out []client.Object
	for _, definition := range read() {
		out = append(out, definition.DeepCopy())
	}
	return out
}

// readDefinitions panics on a file that does not parse: it is part of the program.
func readDefinitions(from embed.FS, folder string) []*unstructured.Unstructured {
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
