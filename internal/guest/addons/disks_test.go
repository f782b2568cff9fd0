package addons

import (
	"maps"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
)

// TestDisksHaveTheTagsOfTheCluster: the driver reads them of the class that a disk is made by.
func TestDisksHaveTheTagsOfTheCluster(t *testing.T) {
	facts := guesttest.PlainFacts()
	for annotation, want := range map[string]string{"": "", "team=blue, cost=1": "cost=1,team=blue", "azure=x": ""} {
		facts.HCP.Annotations = map[string]string{hyperv1.AzureTagsAnnotation: annotation}
		expected := map[string]string{"skuname": "Premium_LRS"}
		if want != "" {
			expected["tags"] = want
		}
		if got := diskClass(facts).Parameters; !maps.Equal(got, expected) {
			t.Errorf("%q: %v", annotation, got)
		}
	}
}
