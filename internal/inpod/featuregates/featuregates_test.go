package featuregates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const rendered = `apiVersion: config.openshift.io/v1
kind: FeatureGate
metadata: {name: cluster}
spec: {}
status:
  featureGates:
  - version: 4.21.0
    enabled: [{name: One}]
    disabled: []
`

func TestGatesAreStored(t *testing.T) {
	t.Setenv("NAMESPACE", "clusters-demo")
	t.Setenv("PAYLOAD_VERSION", "4.21.0")
	var o Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	if o.File != "/manifests/99_feature-gate.yaml" || o.Name != "feature-gate" {
		t.Errorf("the defaults are %+v", o)
	}
	o.File = filepath.Join(t.TempDir(), "gate.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(o.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientset()
	write(rendered)
	if err := store(t.Context(), c, o); err != nil {
		t.Fatal(err)
	}
	got, err := c.CoreV1().ConfigMaps("clusters-demo").Get(t.Context(), "feature-gate", metav1.GetOptions{})
	if err != nil || got.Data["feature-gate.yaml"] != rendered || got.Annotations["hypershift.openshift.io/payload-version"] != "4.21.0" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct{ text, want string }{
		{strings.ReplaceAll(rendered, "4.21.0", "4.20.0"), "no gates of version 4.21.0"},
		{strings.ReplaceAll(rendered, "kind: FeatureGate", "kind: ConfigMap"), "is ConfigMap of config.openshift.io/v1"},
		{"status: 7", "is no FeatureGate"},
	} {
		write(c.text)
		if err := store(t.Context(), fake.NewClientset(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
	o.Version = ""
	if err := store(t.Context(), c, o); err == nil {
		t.Error("gates of no version are stored")
	}
}
