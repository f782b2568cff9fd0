package featuregates

import (
	"reflect"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// What the user asks for is what the payload's own program is told.
func TestGatesByConfiguration(t *testing.T) {
	for name, test := range map[string]struct {
		asked *hyperv1.FeatureGateSpec
		want  configv1.FeatureGateSelection
	}{
		"nothing": {},
		"a set":   {&hyperv1.FeatureGateSpec{FeatureSet: "TechPreviewNoUpgrade"}, configv1.FeatureGateSelection{FeatureSet: "TechPreviewNoUpgrade"}},
		"gates": {
			&hyperv1.FeatureGateSpec{FeatureSet: "CustomNoUpgrade", CustomNoUpgrade: &hyperv1.CustomFeatureGates{Enabled: []string{"A", "B"}, Disabled: []string{"C"}}},
			configv1.FeatureGateSelection{FeatureSet: "CustomNoUpgrade", CustomNoUpgrade: &configv1.CustomFeatureGates{
				Enabled: []configv1.FeatureGateName{"A", "B"}, Disabled: []configv1.FeatureGateName{"C"}}},
		},
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{FeatureGate: test.asked}
		env, err := Environment(&component.Context{HCP: hcp, GuestVersion: "4.22.0"})
		if err != nil {
			t.Fatal(err)
		}
		told, got := map[string]string{}, configv1.FeatureGate{}
		for _, e := range env {
			told[e.Name] = e.Value
		}
		if err := yaml.UnmarshalStrict([]byte(told["FEATURE_GATE_YAML"]), &got); err != nil {
			t.Fatal(err)
		}
		if got.Name != "cluster" || !reflect.DeepEqual(got.Spec.FeatureGateSelection, test.want) || told["PAYLOAD_VERSION"] != "4.22.0" {
			t.Errorf("%s: %s of %s", name, told["FEATURE_GATE_YAML"], told["PAYLOAD_VERSION"])
		}
	}
}
