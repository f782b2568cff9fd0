package addons

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// definitions are the kinds of OpenShift's configuration and versions, unless the payload brings them.
func definitions(facts *inside.Facts) []client.Object {
	if facts.Images[inside.VersionOperatorImage] != "" {
		return nil
	}
	var out []client.Object
	for _, definition := range readDefinitions() {
		out = append(out, definition.DeepCopy())
	}
	return out
}

// readDefinitions panics on a file that does not parse: it is part of the program.
var readDefinitions = sync.OnceValue(func() []*unstructured.Unstructured {
	const folder = "guest"
	files, err := config.Guest.ReadDir(folder)
	if err != nil {
		panic(fmt.Errorf("read the embedded definitions: %w", err))
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		raw, err := config.Guest.ReadFile(folder + "/" + file.Name())
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
})
