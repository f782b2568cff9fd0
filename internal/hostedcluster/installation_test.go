package hostedcluster

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// What the management cluster trusts follows the installation's ConfigMap, and is written once.
func TestInstallationCopies(t *testing.T) {
	f := newFixture(t, "installation")
	f.reconciler.OperatorNamespace, f.reconciler.Operators.MetricsSet = "hypershift", "SRE"
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	// As install makes it: the management cluster has not filled it in.
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "openshift-config-managed-trusted-ca-bundle"}}
	f.create(t, source)
	f.reconcile(t)
	key, made := client.ObjectKey{Namespace: f.namespace, Name: "openshift-config-managed-trusted-ca-bundle"}, &corev1.ConfigMap{}
	if err := f.client.Get(t.Context(), key, made); !apierrors.IsNotFound(err) {
		t.Fatalf("a copy of nothing: %v, %v", made.Data, err)
	}
	source.Data = map[string]string{"ca-bundle.crt": "PEM"}
	f.update(t, source)
	f.reconcile(t)
	if err := f.client.Get(t.Context(), key, made); err != nil || made.Data["ca-bundle.crt"] != "PEM" {
		t.Fatalf("copy %v: %v", made.Data, err)
	}
	f.reconcile(t)
	before := f.writes.Load()
	f.reconcile(t)
	if f.writes.Load() != before {
		t.Error("a copy that is there is written again")
	}
	f.checkMetricsPorts(t)
	source.Data = nil
	f.update(t, source)
	f.reconcile(t)
	if err := f.client.Get(t.Context(), key, made); !apierrors.IsNotFound(err) {
		t.Errorf("the copy of what is empty now: %v, %v", made.Data, err)
	}
}

func (f *fixture) update(t *testing.T, obj client.Object) {
	t.Helper()
	if err := f.client.Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// checkMetricsPorts: the monitors of these workloads, which the control-plane-operator makes, find their port by name. The Azure manager,
// which waits for machines, has the container of the other one.
func (f *fixture) checkMetricsPorts(t *testing.T) {
	t.Helper()
	for _, name := range []string{contract.ControlPlaneOperator, contract.ClusterAPI} {
		d := &appsv1.Deployment{}
		if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, d); err != nil {
			t.Fatal(err)
		}
		c := d.Spec.Template.Spec.Containers[0]
		if d.Spec.Template.Labels["app"] != name || !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "metrics" }) {
			t.Errorf("%s: labels %v, ports %v", name, d.Spec.Template.Labels, c.Ports)
		}
		if name == contract.ControlPlaneOperator && !slices.Contains(c.Env, corev1.EnvVar{Name: "METRICS_SET", Value: "SRE"}) {
			t.Errorf("environment of %s: %v", name, c.Env)
		}
	}
}
