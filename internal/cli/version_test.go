package cli

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The version says which kinds of payload the operator runs, where the operator does.
func TestServerVersion(t *testing.T) {
	for title, c := range map[string]struct {
		data map[string]string
		want serverReport
		fail bool
	}{
		"of today": {map[string]string{"server-version": "abc", "supported-versions": `{"versions":["4.21"]}`, "payload-kinds": `{"kinds":["Kubernetes"]}`},
			serverReport{Commit: "abc", SupportedOCPs: []string{"4.21"}, PayloadKinds: []string{"Kubernetes"}}, false},
		"older": {map[string]string{"server-version": "abc", "supported-versions": `{"versions":["4.21"]}`},
			serverReport{Commit: "abc", SupportedOCPs: []string{"4.21"}}, false},
		"malformed": {map[string]string{"server-version": "abc", "supported-versions": `{"versions":["4.21"]}`, "payload-kinds": "["},
			serverReport{Commit: "abc", SupportedOCPs: []string{"4.21"}}, true},
	} {
		got, err := serverOf(&corev1.ConfigMap{Data: c.data})
		if (err != nil) != c.fail || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", title, got, err)
		}
	}
}
