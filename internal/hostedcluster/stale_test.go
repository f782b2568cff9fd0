package hostedcluster

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// An operator that just started may be shown a cluster that is gone: nobody would ever remove what it made for it.
func TestNothingIsMadeForAClusterThatIsGone(t *testing.T) {
	f := newFixture(t, "stale")
	gone := f.cluster()
	gone.UID, gone.ResourceVersion = types.UID("3f6f9c5e-0000-4000-8000-000000000001"), "1"
	gone.Finalizers = []string{hyperv1.Finalizer}
	gone.Spec.InfraID, gone.Spec.ClusterID = "stale-abcde", "3f6f9c5e-0000-4000-8000-000000000002"
	f.create(t, f.pullSecret(), f.madeSecret())
	f.reconciler.Client = interceptor.NewClient(f.reconciler.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			if hc, ok := obj.(*hyperv1.HostedCluster); ok {
				gone.DeepCopyInto(hc)
				return nil
			}
			return c.Get(ctx, key, obj, options...)
		},
	})
	f.reconcile(t)
	if writes := f.writes.Load(); writes != 1 {
		t.Errorf("%d writes, want that of the status alone, which the API server refuses", writes)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
		t.Errorf("the control plane's namespace: %v", err)
	}
	secret := f.pullSecret()
	f.read(t, secret)
	if len(secret.Annotations) > 0 {
		t.Errorf("the user's Secret is marked: %v", secret.Annotations)
	}
}
