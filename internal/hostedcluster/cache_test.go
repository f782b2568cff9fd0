package hostedcluster

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// cached is the object as the operator's cache has it.
func cached[T client.Object](t *testing.T, obj T) T {
	t.Helper()
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	for kind, options := range CacheOptions() {
		if _, ok := kind.(T); !ok {
			continue
		}
		out, err := options.Transform(obj)
		if err != nil {
			t.Fatal(err)
		}
		if obj = out.(T); len(obj.GetManagedFields()) > 0 {
			t.Errorf("%T %s keeps its managed fields", obj, obj.GetName())
		}
		return obj
	}
	t.Fatalf("%T is cached whole", obj)
	return obj
}

func TestCacheHasNoPrivateKeysOfControlPlanes(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "uid"}}
	secret := func(name string, owned bool, keys ...string) *corev1.Secret {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
		for _, key := range keys {
			made.Data[key] = []byte("x")
		}
		if owned {
			component.Own(hcp, made)
		}
		return made
	}
	for _, test := range []struct {
		secret *corev1.Secret
		want   string
	}{
		{secret("etcd-client-tls", true, "etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"), ""},
		{secret("admin-kubeconfig", true, "kubeconfig"), "kubeconfig"},
		{secret("kubeadmin-password", true, "password"), "password"},
		{secret("ignition-server-ca-cert", true, "tls.crt", "ca.crt"), "ca.crt tls.crt"},
		{secret("users-own", false, "tls.crt", "tls.key"), "tls.crt tls.key"},
	} {
		got := slices.Sorted(maps.Keys(cached(t, test.secret).Data))
		if strings.Join(got, " ") != test.want {
			t.Errorf("Secret %s is cached with %v, want %q", test.secret.Name, got, test.want)
		}
	}
}

func TestCacheKeepsOnlyTheStateOfForeignDeployments(t *testing.T) {
	deployment := func() *appsv1.Deployment {
		made := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "ignition-server"}}
		made.Spec.Replicas, made.Spec.Selector = ptr.To[int32](3), &metav1.LabelSelector{}
		made.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}
		return made
	}
	foreign := deployment()
	component.Own(&hyperv1.HostedControlPlane{}, foreign)
	if got := cached(t, foreign); got.Spec.Selector != nil || ptr.Deref(got.Spec.Replicas, 0) != 3 || len(got.Status.Conditions) != 1 {
		t.Errorf("a control plane's Deployment is cached as %+v", got)
	}
	if got := cached(t, deployment()); got.Spec.Selector == nil {
		t.Error("the operator's own Deployment lost its spec")
	}
}
