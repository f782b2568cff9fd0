package controlplane

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// TestMachinesAreConfigured: mirrors are told while there are some, and what programs of a payload read only where it has such, once machines can
// be told where the API server is.
func TestMachinesAreConfigured(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	hcp := planetest.Plane()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: hcp.Namespace, Name: name} }
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(hcp,
		&corev1.Secret{ObjectMeta: named(contract.RootCA), Data: map[string][]byte{contract.CAKey: []byte("root")}},
		&corev1.ConfigMap{ObjectMeta: named(contract.KubeletClientCA), Data: map[string]string{contract.CAKey: "kubelets"}}).Build()
	write := component.Writer{Client: c, HCP: hcp}
	made := func(kind release.Kind) []string {
		t.Helper()
		if err := configureMachines(t.Context(), write, kind); err != nil {
			t.Fatal(err)
		}
		list := &corev1.ConfigMapList{}
		if err := c.List(t.Context(), list, client.InNamespace(hcp.Namespace)); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range list.Items {
			if m.Name != contract.KubeletClientCA {
				names = append(names, m.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	always := []string{"ignition-config-fips", "ignition-config-worker-ssh"}
	if got := made(release.KindOpenShift); !slices.Equal(got, always) {
		t.Errorf("before the API server is published there are %v", got)
	}
	hcp.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.example.com", Port: 443}
	hcp.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/a", Mirrors: []string{"mirror.test/a"}}}
	if got := made(release.KindKubernetes); !slices.Equal(got, []string{"ignition-config-40-image-content-source", "ignition-config-fips", "ignition-config-worker-ssh"}) {
		t.Errorf("with mirrors there are %v", got)
	}
	hcp.Spec.ImageContentSources = nil
	if got := made(release.KindOpenShift); !slices.Equal(got, append(slices.Clone(always), "machine-config-server")) {
		t.Errorf("of an OpenShift payload there are %v", got)
	}
}
