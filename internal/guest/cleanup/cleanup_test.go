package cleanup

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const namespace = "clusters-demo"

type fixture struct {
	*testing.T
	client     client.Client
	reconciler *reconciler
	hcp        *hyperv1.HostedControlPlane
}

// newFixture is a guest that is its own management cluster.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, client: c, hcp: planetest.Plane(), reconciler: &reconciler{guest: c, live: c, management: c, namespace: namespace, now: time.Now}}
	f.hcp.Finalizers = []string{hyperv1.Finalizer}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, f.hcp)
	return f
}

func (f *fixture) create(objects ...client.Object) {
	f.Helper()
	for _, obj := range objects {
		if err := f.client.Create(f.Context(), obj); err != nil {
			f.Fatalf("%T %s: %v", obj, obj.GetName(), err)
		}
	}
}

func (f *fixture) look() *metav1.Condition {
	f.Helper()
	if _, err := f.reconciler.Reconcile(f.Context(), reconcile.Request{}); err != nil {
		f.Fatal(err)
	}
	if err := f.client.Get(f.Context(), client.ObjectKeyFromObject(f.hcp), f.hcp); err != nil {
		f.Fatal(err)
	}
	return kube.Find(f.hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
}

// expect looks once; want is "STATUS REASON", or empty for no condition.
func (f *fixture) expect(want string, says ...string) {
	f.Helper()
	got, told := "", f.look()
	if told != nil {
		got = string(told.Status) + " " + told.Reason
	}
	if got != want {
		f.Fatalf("condition %q: %+v; want %q", got, told, want)
	}
	for _, words := range says {
		if !strings.Contains(told.Message, words) {
			f.Errorf("%q does not say %q", told.Message, words)
		}
	}
}

func (f *fixture) deletes(asked, down bool) {
	f.Helper()
	if asked {
		f.hcp.Annotations = map[string]string{hyperv1.CleanupCloudResourcesAnnotation: "true"}
		if err := f.client.Update(f.Context(), f.hcp); err != nil {
			f.Fatal(err)
		}
	}
	if err := f.client.Delete(f.Context(), f.hcp); client.IgnoreNotFound(err) != nil {
		f.Fatal(err)
	}
	f.look()
	if down {
		kube.Conditions(&f.hcp.Status.Conditions, 1).True(hyperv1.CVOScaledDown, hyperv1.AsExpectedReason, "")
		if err := f.client.Status().Update(f.Context(), f.hcp); err != nil {
			f.Fatal(err)
		}
	}
}

func volume(name string, policy corev1.PersistentVolumeReclaimPolicy) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeReclaimPolicy: policy, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "claim", UID: "a"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.azure.com", VolumeHandle: "/subscriptions/s/disks/" + name}}}}
}

func (f *fixture) gone(obj client.Object) bool {
	f.Helper()
	err := f.client.Get(f.Context(), client.ObjectKeyFromObject(obj), obj)
	return apierrors.IsNotFound(err) || err == nil && !obj.GetDeletionTimestamp().IsZero()
}

// TestCleanup: what has something in Azure is deleted and named until it is gone; nothing new comes; disks that are to stay are named.
func TestCleanup(t *testing.T) {
	f := newFixture(t)
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}
	inner := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "inner", Namespace: "default"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
	pod := func(name string, volumes ...corev1.Volume) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PodSpec{NodeName: "lost", Volumes: volumes,
			Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	}
	holds := pod("holds", corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}})
	idle := pod("idle")
	goes, stays := volume("goes", corev1.PersistentVolumeReclaimDelete), volume("stays", corev1.PersistentVolumeReclaimRetain)
	f.create(web, inner, claim, holds, idle, goes, stays)

	f.expect("")
	f.deletes(true, false)
	if f.expect(""); f.gone(web) {
		t.Error("the Service goes although the version operator runs")
	}
	f.deletes(true, true)
	f.expect("False RemainingCloudResources", "loadbalancers (default/web)", "persistent-volumes (goes)")
	for _, obj := range []client.Object{web, claim, holds} {
		if !f.gone(obj) {
			t.Errorf("%T %s stays", obj, obj.GetName())
		}
	}
	for _, obj := range []client.Object{inner, idle, stays} {
		if f.gone(obj) {
			t.Errorf("%T %s goes", obj, obj.GetName())
		}
	}
	if err := f.client.Get(t.Context(), client.ObjectKey{Name: blockName}, &admissionv1.ValidatingWebhookConfiguration{}); err != nil {
		t.Errorf("new Services are let in: %v", err)
	}

	// The cloud controller manager and the disk driver have done their work.
	web.Finalizers = nil
	if err := f.client.Update(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	goes.Finalizers = nil
	if err := errors.Join(f.client.Update(t.Context(), goes), f.client.Delete(t.Context(), goes)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	f.expect("True CloudResourcesDestroyed", "/subscriptions/s/disks/stays")
}

// TestNotAsked: without the annotation nothing is touched.
func TestNotAsked(t *testing.T) {
	f := newFixture(t)
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}
	f.create(web)
	f.deletes(false, true)
	if f.expect(""); f.gone(web) {
		t.Error("the Service goes although nobody asked for it")
	}
}

// TestGivesUp: a guest that is not reached five times in a row, or for five minutes, is left alone.
func TestGivesUp(t *testing.T) {
	now := time.Now()
	silent := &net.OpError{Op: "dial", Err: errors.New("refused")}
	r := &reconciler{now: func() time.Time { return now }}
	for i := range maxFailures {
		want := hyperv1.CloudResourcesErrorReason
		if i == maxFailures-1 {
			want = hyperv1.CloudResourcesCleanupSkipped
		}
		if got := r.countFailure(silent); got.Reason != want {
			t.Errorf("failure %d: %+v", i+1, got)
		}
	}
	r.failures = 0
	r.countFailure(silent)
	now = now.Add(failureTimeout)
	if got := r.countFailure(silent); got.Reason != hyperv1.CloudResourcesCleanupSkipped || !strings.Contains(got.Message, "ConnectionFailureTimeout") {
		t.Errorf("after five minutes: %+v", got)
	}
	if !unreachable(silent) || unreachable(apierrors.NewForbidden(corev1.Resource("services"), "web", nil)) {
		t.Error("what tells nothing of the guest, and what does, are mixed up")
	}
}
