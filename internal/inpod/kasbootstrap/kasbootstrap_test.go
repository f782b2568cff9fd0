package kasbootstrap

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const rightsOf = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kas-bootstrap-container-cluster-admin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:kas-bootstrap-container"}]
`

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  creationTimestamp: null
  name: featuregates.config.openshift.io
  annotations: {api-approved.kubernetes.io: https://github.com/openshift/api/pull/470}
spec:
  group: config.openshift.io
  scope: Cluster
  names: {kind: FeatureGate, listKind: FeatureGateList, plural: featuregates, singular: featuregate}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status: {}
`

func gate(version string) string {
	return `apiVersion: config.openshift.io/v1
kind: FeatureGate
metadata: {name: cluster}
spec: {featureSet: ""}
status:
  featureGates:
  - {version: ` + version + `, enabled: [{name: New}], disabled: []}
`
}

func rendered(t *testing.T, files map[string]string) Options {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Resources: dir, Times: Times{Pause: 50 * time.Millisecond, First: 10 * time.Second, Rest: 20 * time.Second}}
}

// TestBootstrap brings definitions, rights and gates into a real API server: as somebody who has no rights but those that come first.
func TestBootstrap(t *testing.T) {
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	if err := configv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:kas-bootstrap-container"}
	own, err := client.New(as, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{ownRights: rightsOf, featureGate: gate("4.20.0"), "0000_10_featuregates.crd.yaml": definition}
	if err := rendered(t, files).apply(t.Context(), admin, own); err != nil {
		t.Fatal(err)
	}
	files[featureGate] = gate("4.21.0")
	for range 2 {
		if err := rendered(t, files).apply(t.Context(), admin, own); err != nil {
			t.Fatal(err)
		}
	}
	live := &configv1.FeatureGate{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "cluster"}, live); err != nil {
		t.Fatal(err)
	}
	if got := versionsOf(live.Status.FeatureGates); !slices.Equal(got, []string{"4.21.0", "4.20.0"}) {
		t.Errorf("gates of %v", got)
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "featuregates.config.openshift.io"}, crd); err != nil {
		t.Fatal(err)
	}
	if fields := crd.GetManagedFields(); !slices.ContainsFunc(fields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == Name }) {
		t.Errorf("its fields are owned by %v", fields)
	}

	files["50_broken.yaml"] = "apiVersion: nowhere.example.com/v1\nkind: Nothing\nmetadata: {name: x}\n"
	broken := rendered(t, files)
	broken.Rest = time.Second
	if err := broken.apply(t.Context(), admin, own); err == nil || !strings.Contains(err.Error(), "Nothing x of 50_broken.yaml") {
		t.Errorf("of no kind: %v", err)
	}
	if err := rendered(t, nil).apply(t.Context(), admin, own); err == nil {
		t.Error("nothing was rendered, and that is well")
	}
}

func versionsOf(gates []configv1.FeatureGateDetails) []string {
	var out []string
	for _, g := range gates {
		out = append(out, g.Version)
	}
	return out
}

func TestGatesOfVersions(t *testing.T) {
	of := func(version string) configv1.FeatureGateDetails { return configv1.FeatureGateDetails{Version: version} }
	have := []configv1.FeatureGateDetails{of("4.22.0"), of("4.21.0"), of("4.20.0"), of("4.19.0")}
	history := &configv1.ClusterVersion{Status: configv1.ClusterVersionStatus{Desired: configv1.Release{Version: "4.22.0"}, History: []configv1.UpdateHistory{
		{State: configv1.PartialUpdate, Version: "4.22.0"}, {State: configv1.PartialUpdate, Version: "4.21.0"},
		{State: configv1.CompletedUpdate, Version: "4.20.0"}, {State: configv1.CompletedUpdate, Version: "4.19.0"}}}}
	for name, test := range map[string]struct {
		version *configv1.ClusterVersion
		want    []string
	}{
		"nobody knows":        {nil, []string{"4.22.0", "4.21.0", "4.20.0", "4.19.0"}},
		"since the last one":  {history, []string{"4.22.0", "4.21.0", "4.20.0"}},
		"no history, desired": {&configv1.ClusterVersion{Status: configv1.ClusterVersionStatus{Desired: configv1.Release{Version: "4.21.0"}}}, []string{"4.22.0", "4.21.0"}},
	} {
		if got := versionsOf(merged(of("4.22.0"), have, test.version)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
