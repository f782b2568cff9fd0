package azure_test

import (
	"strings"
	"testing"
)

// The marketplace has the images that node pools boot, with their architecture and generation, and no others.
func TestImages(t *testing.T) {
	s := newSandbox(t)
	const publishers = inSub + "/providers/Microsoft.Compute/locations/eastus/publishers"
	const kinvolk = publishers + "/kinvolk/artifactTypes/VMImage/offers"
	for path, want := range map[string]string{
		publishers: `"name":"kinvolk"`,
		kinvolk:    `"name":"flatcar-container-linux-corevm-amd64"`,
		kinvolk + "/flatcar-container-linux-corevm-amd64/skus":                             `"name":"stable-gen2"`,
		kinvolk + "/flatcar-container-linux-corevm-amd64/skus/stable-gen2/versions":        `"name":"4593.2.1"`,
		kinvolk + "/flatcar-container-linux-corevm-amd64/skus/stable-gen2/versions/latest": `"architecture":"x64","dataDiskImages":[],"hyperVGeneration":"V2"`,
		kinvolk + "/flatcar-container-linux-corevm-amd64/skus/stable/versions/4593.2.1":    `"hyperVGeneration":"V1"`,
		kinvolk + "/flatcar-container-linux-corevm/skus/stable/versions/latest":            `"architecture":"Arm64","dataDiskImages":[],"hyperVGeneration":"V2"`,
		kinvolk + "/flatcar-container-linux-free/skus/stable-gen2/versions/latest":         `"plan":{"name":"stable-gen2","product":"flatcar-container-linux-free","publisher":"kinvolk"}`,
		inSub + "/providers/Microsoft.Compute/skus?$filter=location%20eq%20'eastus'":       `{"name":"CpuArchitectureType","value":"Arm64"},{"name":"HyperVGenerations","value":"V2"}`,
	} {
		if got := s.all(path); !strings.Contains(got.text, want) {
			t.Errorf("%s lacks %s: %s", path, want, got.text)
		}
	}
	s.refusals([]refusal{
		{"GET", kinvolk + "/none/skus", "", 404, "NotFound", "none"},
		{"GET", kinvolk + "/flatcar-container-linux-corevm/skus/stable/versions/1.2.3", "", 404, "NotFound", "Artifact: vmimage/offers/flatcar-container-linux-corevm/skus/stable/versions/1.2.3 was not found."},
	})
}
