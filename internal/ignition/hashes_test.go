package ignition

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestHash(t *testing.T) {
	for text, want := range map[string]string{"": "811c9dc5", "a": "e40c292c", "foobar": "bf9cf968"} {
		if got := Hash(text); got != want {
			t.Errorf("Hash(%q) = %s, want %s", text, got, want)
		}
	}
	if HashBytes([]byte(`{"a`)) != Hash("[123 34 97]") {
		t.Error("bytes are not hashed as their printed list")
	}
}

// TestCloudConfigHash: every key counts, in one order, and no ConfigMap has no hash.
func TestCloudConfigHash(t *testing.T) {
	if got := CloudConfigHash(nil); got != "" {
		t.Errorf("nothing has the hash %q", got)
	}
	data := map[string]string{"b": "2", "a": "1"}
	if got, want := CloudConfigHash(data), Hash("a\x001\x00b\x002\x00"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestConfigurationHash: an import mode that says nothing is none, and anything else counts.
func TestConfigurationHash(t *testing.T) {
	of := func(image string) string {
		t.Helper()
		hash, err := ConfigurationHash(&hyperv1.ClusterConfiguration{Image: &runtime.RawExtension{Raw: []byte(image)}})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	if of(`{"a":1,"imageStreamImportMode":""}`) != of(`{"a":1}`) {
		t.Error("an empty imageStreamImportMode changes the hash")
	}
	if of(`{"a":1,"imageStreamImportMode":"Legacy"}`) == of(`{"a":1}`) {
		t.Error("an imageStreamImportMode does not change the hash")
	}
}
