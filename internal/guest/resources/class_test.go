package resources

import (
	"context"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// TestStorageClassWithOtherParameters: the API server takes none for one that exists, so another takes its place. Nothing else is deleted
// for being invalid.
func TestStorageClassWithOtherParameters(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	class := func(tags string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "managed-csi"}, Provisioner: inside.DiskProvisioner, Parameters: map[string]string{"tags": tags}}
	}
	deleted := 0
	guest := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(class("a=b")).Build(), interceptor.Funcs{
		// As the API server has it, which the fake does not know.
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			err := c.Get(ctx, client.ObjectKey{Name: "managed-csi"}, &storagev1.StorageClass{})
			if err == nil {
				return apierrors.NewInvalid(storagev1.SchemeGroupVersion.WithKind("StorageClass").GroupKind(), "managed-csi", nil)
			}
			return c.Apply(ctx, obj, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
			deleted++
			return c.Delete(ctx, obj, options...)
		},
	})
	r := &reconciler{guest: guest, applied: map[string]applied{}}
	if err := r.ensure(t.Context(), class("a=c")); err != nil {
		t.Fatal(err)
	}
	live := &storagev1.StorageClass{}
	if err := guest.Get(t.Context(), client.ObjectKey{Name: "managed-csi"}, live); err != nil || live.Parameters["tags"] != "a=c" || deleted != 1 {
		t.Errorf("parameters %v after %d deletions: %v", live.Parameters, deleted, err)
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "managed-csi"}}
	if err := r.ensure(t.Context(), driver); !apierrors.IsInvalid(err) || deleted != 1 {
		t.Errorf("another kind: %v, %d deletions", err, deleted)
	}
}
