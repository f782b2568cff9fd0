package reencryption

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// The guest of this test is the management cluster itself. Every object is written again, pages apart and across a failure, and what
// somebody else changed meanwhile is left to him.
func TestReencryption(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	real, err := client.NewWithWatch(kubetest.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	const namespace = "plane"
	key := func(hash string) *encryption.Key {
		return &encryption.Key{Provider: encryption.AESCBC, AESCBC: &hyperv1.AESCBCKeyStatus{Secret: corev1.LocalObjectReference{Name: hash}, DataHash: hash}}
	}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: namespace, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}}
	hcp.Status.SecretEncryption = &encryption.Status{ActiveKey: key("old"), TargetKey: key("new"), History: []hyperv1.SecretEncryptionRotation{{
		To: hyperv1.SecretEncryptionFingerprint{Provider: encryption.AESCBC, Fingerprint: "new"}, State: encryption.Migrating, StartedTime: metav1.Now()}}}
	if err := real.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		if err := real.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", i), Namespace: namespace}}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	written, broken := map[string]int{}, true
	secrets := schema.GroupResource{Resource: "secrets"}
	guest := interceptor.NewClient(real, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			mu.Lock()
			written[obj.GetName()]++
			down := broken
			mu.Unlock()
			switch {
			case obj.GetName() == "s2":
				return apierrors.NewConflict(secrets, "s2", errors.New("changed"))
			case obj.GetName() == "s3":
				return apierrors.NewNotFound(secrets, "s3")
			case obj.GetName() == "s5" && down:
				return apierrors.NewInternalError(errors.New("not now"))
			}
			return c.Patch(ctx, obj, patch, opts...)
		}})
	// The status is not stored: the definitions of our kinds are not installed here.
	management := interceptor.NewClient(real, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if planes, isPlanes := list.(*hyperv1.HostedControlPlaneList); isPlanes {
				planes.Items = []hyperv1.HostedControlPlane{*hcp}
				return nil
			}
			return c.List(ctx, list, opts...)
		}})
	r := &reconciler{live: real, guest: guest, management: management, namespace: namespace, page: 2}
	report := func() encryption.Report {
		t.Helper()
		report, err := encryption.ReadMigration(ctx, real, namespace)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if _, err := r.Reconcile(ctx, reconcile.Request{}); err == nil || report().Done || report().Problem == "" {
		t.Fatalf("a Secret that cannot be written ends it: %v, %+v", err, report())
	}
	first := written["s0"]
	broken = false
	if _, err := r.Reconcile(ctx, reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
	if got := report(); !got.Done || got.Problem != "" || got.ID != encryption.Migration(hcp.Status.SecretEncryption) || got.Count < 7 {
		t.Errorf("report %+v", got)
	}
	for i := range 7 {
		if name := fmt.Sprintf("s%d", i); written[name] == 0 {
			t.Errorf("Secret %s was not written again", name)
		}
	}
	if written["s0"] != first {
		t.Error("after a failure it begins from the start, and not where it was")
	}
	before := len(written)
	written = map[string]int{}
	if _, err := r.Reconcile(ctx, reconcile.Request{}); err != nil || len(written) != 0 {
		t.Errorf("of %d Secrets %d are written although all is done: %v", before, len(written), err)
	}
}
