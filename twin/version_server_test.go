package twin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/twin/content"
)

// The checker of the version operator, on an API server: definitions, namespaces and rights of the payload are there, the ClusterVersion is
// completed, and operators say that they are checkers; another release goes the same way.
func TestVersionOperator(t *testing.T) {
	share(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{configv1.Install, corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(kubetest.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"bootstrap", "operator"} {
		for name := range content.Folder(folder) {
			apply(t, c, folder, name)
		}
	}
	version := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}, Spec: configv1.ClusterVersionSpec{ClusterID: "0b8dd0ad-6a3b-4c5d-9f6e-0a1b2c3d4e5f",
		Capabilities: &configv1.ClusterVersionCapabilitiesSpec{BaselineCapabilitySet: "None", AdditionalEnabledCapabilities: []configv1.ClusterVersionCapability{"Ingress"}}}}
	eventually(t, func() error { return c.Create(t.Context(), version.DeepCopy()) })
	former := versionOperator{client: c, image: "q/r@sha256:1", payload: laidOut(t, "4.21.0")}
	eventually(t, func() error { return former.pass(t.Context()) })
	next := versionOperator{client: c, image: "q/r@sha256:2", payload: laidOut(t, "4.22.0")}
	eventually(t, func() error { return next.pass(t.Context()) })
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(version), version); err != nil {
		t.Fatal(err)
	}
	h := version.Status.History
	if len(h) != 2 || h[0].Version != "4.22.0" || h[0].State != configv1.CompletedUpdate || h[1].State != configv1.CompletedUpdate || version.Status.Desired.Version != "4.22.0" {
		t.Errorf("history %+v", h)
	}
	network := &configv1.ClusterOperator{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "network"}, network); err != nil || len(network.Status.Conditions) != 4 || !strings.HasPrefix(network.Status.Conditions[0].Message, Said) {
		t.Errorf("network: %v, %+v", err, network.Status)
	}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "operator.openshift.io", Version: "v1", Kind: "IngressController"}, {Group: "imageregistry.operator.openshift.io", Version: "v1", Kind: "Config"},
		{Group: "network.operator.openshift.io", Version: "v1", Kind: "OperatorPKI"}, {Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"},
	} {
		if _, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "openshift-network-operator", Name: "cluster-network-operator"}, &corev1.ServiceAccount{}); err != nil {
		t.Error(err)
	}

	// A registry that is to be removed has nothing left; one that is kept is not spoken of.
	registry := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"managementState": "Managed", "replicas": int64(1)}}}
	registry.SetGroupVersionKind(registryKind)
	registry.SetName("cluster")
	if err := c.Create(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{"Managed", "map[]"}, {"Removed", "map[Removed:True StorageExists:False]"}} {
		state, want := step[0], step[1]
		if err := c.Patch(t.Context(), registry, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"managementState":"`+state+`"}}`))); err != nil {
			t.Fatal(err)
		}
		if err := removedRegistry(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(registry), registry); err != nil {
			t.Fatal(err)
		}
		said := map[string]string{}
		conditions, _, _ := unstructured.NestedSlice(registry.Object, "status", "conditions")
		for _, one := range conditions {
			fields := one.(map[string]any)
			said[fields["type"].(string)] = fields["status"].(string)
		}
		if fmt.Sprint(said) != want {
			t.Errorf("%s: it is said to be %v, want %s", state, said, want)
		}
	}
}

// Operands of a checker are made, and get the image of the next release.
func TestOperands(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(kubetest.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	o := Operand{Deployment: "csi-snapshot-controller", Container: "snapshot-controller"}
	for _, image := range []string{"q/r@sha256:1", "q/r@sha256:1", "q/r@sha256:2"} {
		if err := keep(t.Context(), c, o.of("default", image)); err != nil {
			t.Fatal(err)
		}
		live := &appsv1.Deployment{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: o.Deployment}, live); err != nil || live.Spec.Template.Spec.Containers[0].Image != image {
			t.Errorf("%v: %+v", err, live.Spec.Template.Spec.Containers)
		}
	}
}

// laidOut is what prepare-payload leaves of a release.
func laidOut(t *testing.T, release string) string {
	t.Helper()
	folder, kept := t.TempDir(), content.OfRelease()
	for _, name := range content.Omitted() {
		delete(kept, name)
	}
	kept["image-references"] = `{"metadata":{"name":"` + release + `"}}`
	kept["0000_01_cleanup.yaml"] = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  namespace: openshift-network-operator\n  name: network-operator\n" +
		"  annotations: {include.release.openshift.io/ibm-cloud-managed: \"true\", release.openshift.io/delete: \"true\"}\n"
	write(t, filepath.Join(folder, "release-manifests"), kept)
	write(t, filepath.Join(folder, "manifests"), content.Folder("operator"))
	return folder
}

// apply plays what lays a definition down before the version operator runs.
func apply(t *testing.T, c client.Client, folder, name string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content.Folder(folder)[name]), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := readManifests(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: obj.Object}), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatal(name, err)
		}
	}
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}
