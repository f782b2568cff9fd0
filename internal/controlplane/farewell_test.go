package controlplane

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/versionoperator"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// leaving is a control plane that is being deleted, with or without the wish that what the guest made in Azure goes first.
type leaving struct {
	*testing.T
	client     client.Client
	reconciler *Reconciler
	hcp        *hyperv1.HostedControlPlane
	now        time.Time
}

func newLeaving(t *testing.T, namespace, wish string) *leaving {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	l := &leaving{T: t, client: c, hcp: inNamespace(namespace), now: time.Now()}
	l.reconciler = &Reconciler{Client: c, Now: func() time.Time { return l.now }}
	l.hcp.Finalizers, l.hcp.Annotations = []string{hyperv1.Finalizer}, map[string]string{hyperv1.CleanupCloudResourcesAnnotation: wish}
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.hcp.Namespace}}, l.hcp)
	l.status(func(s *hyperv1.HostedControlPlaneStatus) { s.Initialized = true })
	for _, name := range []string{contract.APIServer, contract.ConfigOperator, versionoperator.Name} {
		labels := map[string]string{component.LabelApp: name}
		l.create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: l.hcp.Namespace}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}})
	}
	if err := c.Delete(t.Context(), l.hcp); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *leaving) create(objects ...client.Object) {
	l.Helper()
	for _, obj := range objects {
		if err := l.client.Create(l.Context(), obj); err != nil {
			l.Fatal(err)
		}
	}
}

func (l *leaving) status(change func(*hyperv1.HostedControlPlaneStatus)) {
	l.Helper()
	if err := l.client.Get(l.Context(), client.ObjectKeyFromObject(l.hcp), l.hcp); err != nil {
		l.Fatal(err)
	}
	change(&l.hcp.Status)
	if err := l.client.Status().Update(l.Context(), l.hcp); err != nil {
		l.Fatal(err)
	}
}

// says is what the config operator tells.
func (l *leaving) says(status metav1.ConditionStatus, reason, message string) {
	l.Helper()
	l.status(func(s *hyperv1.HostedControlPlaneStatus) {
		kube.Conditions(&s.Conditions, 1).Set(hyperv1.CloudResourcesDestroyed, status, reason, message)
	})
}

// pass reconciles once; want is the reason of the condition, empty when the control plane goes.
func (l *leaving) pass(want string) {
	l.Helper()
	if _, err := l.reconciler.Reconcile(l.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(l.hcp)}); err != nil {
		l.Fatal(err)
	}
	err := l.client.Get(l.Context(), client.ObjectKeyFromObject(l.hcp), l.hcp)
	if client.IgnoreNotFound(err) != nil {
		l.Fatal(err)
	}
	if gone := err != nil; gone != (want == "") {
		l.Fatalf("the control plane is gone: %v, want reason %q; conditions %v", gone, want, l.hcp.Status.Conditions)
	}
	if told := kube.Find(l.hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed); want != "" && told.Reason != want {
		l.Errorf("condition %+v, want %s", told, want)
	}
}

// deployment changes a Deployment's status, or deletes it.
func (l *leaving) deployment(name string, change func(*appsv1.Deployment)) {
	l.Helper()
	live := &appsv1.Deployment{}
	if err := l.client.Get(l.Context(), client.ObjectKey{Namespace: l.hcp.Namespace, Name: name}, live); err != nil {
		l.Fatal(err)
	}
	var err error
	if change == nil {
		err = l.client.Delete(l.Context(), live)
	} else {
		change(live)
		err = l.client.Status().Update(l.Context(), live)
	}
	if err != nil {
		l.Fatal(err)
	}
}

// TestFarewell: the control plane stays until what the guest made is gone, and the version operator ends first.
func TestFarewell(t *testing.T) {
	l := newLeaving(t, "farewell", "true")
	l.deployment(versionoperator.Name, func(d *appsv1.Deployment) { d.Status.Replicas = 1 })
	l.pass(hyperv1.RemainingCloudResourcesReason)
	live := &appsv1.Deployment{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: l.hcp.Namespace, Name: versionoperator.Name}, live); err != nil || ptr.Deref(live.Spec.Replicas, 1) != 0 {
		t.Errorf("the version operator has %v replicas: %v", live.Spec.Replicas, err)
	}
	l.pass(hyperv1.RemainingCloudResourcesReason)
	if kube.IsTrue(l.hcp.Status.Conditions, hyperv1.CVOScaledDown) {
		t.Error("the version operator still runs, and is told to be down")
	}
	l.deployment(versionoperator.Name, func(d *appsv1.Deployment) { d.Status.Replicas = 0 })
	l.pass(hyperv1.RemainingCloudResourcesReason)
	if !kube.IsTrue(l.hcp.Status.Conditions, hyperv1.CVOScaledDown) {
		t.Error("the version operator is down, and nobody is told")
	}
	l.says(metav1.ConditionFalse, hyperv1.RemainingCloudResourcesReason, "loadbalancers (default/web)")
	l.pass(hyperv1.RemainingCloudResourcesReason)
	l.says(metav1.ConditionTrue, hyperv1.CloudResourcesDestroyed, "")
	l.pass("")
}

// TestFarewellIsBounded: who does not ask does not wait, and nobody waits for what nobody does.
func TestFarewellIsBounded(t *testing.T) {
	newLeaving(t, "unasked", "false").pass("")

	begins := newLeaving(t, "begins", "true")
	begins.status(func(s *hyperv1.HostedControlPlaneStatus) { s.Initialized = false })
	begins.pass("")

	headless := newLeaving(t, "headless", "true")
	headless.deployment(contract.APIServer, nil)
	headless.pass("")

	silent := newLeaving(t, "silent", "true")
	silent.pass(hyperv1.RemainingCloudResourcesReason)
	silent.deployment(contract.ConfigOperator, func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(silent.now)}}
	})
	silent.pass(hyperv1.RemainingCloudResourcesReason)
	silent.now = silent.now.Add(2 * absentLimit)
	silent.pass("")

	slow := newLeaving(t, "slow", "true")
	slow.pass(hyperv1.RemainingCloudResourcesReason)
	slow.says(metav1.ConditionFalse, hyperv1.RemainingCloudResourcesReason, "persistent-volumes (pvc-1)")
	slow.now = slow.now.Add(cleanupLimit - time.Minute)
	slow.pass(hyperv1.RemainingCloudResourcesReason)
	slow.now = slow.now.Add(2 * time.Minute)
	slow.pass("")
}
