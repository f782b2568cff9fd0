package hostedcluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/dashboards"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// The dashboard follows the operator's setting, lies where the management cluster shows it, and is written once.
func TestDashboard(t *testing.T) {
	f := newFixture(t, "dashboard")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	template := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: series.DashboardTemplate},
		Data: map[string]string{series.DashboardTemplateKey: string(config.Dashboard)}}
	f.create(t, template)
	own := client.ObjectKey{Namespace: f.namespace, Name: f.namespace + "-dashboard"}
	console := client.ObjectKey{Namespace: "openshift-config-managed", Name: own.Name}

	found, err := dashboards.Probe(t.Context(), f.client, "hypershift")
	if err != nil || found.Namespace != "" {
		t.Fatalf("without OpenShift's console: %+v, %v", found, err)
	}
	f.reconciler.Dashboards = found
	f.reconcile(t)
	made := &corev1.ConfigMap{}
	if err := f.client.Get(t.Context(), own, made); err != nil || !strings.Contains(made.Data["hostedcluster-dashboard.json"], "Hosted cluster clusters/dashboard") || made.Labels["grafana_dashboard"] != "1" {
		t.Fatalf("dashboard %v %q: %v", made.Labels, made.Data, err)
	}

	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-config-managed"}})
	if f.reconciler.Dashboards, err = dashboards.Probe(t.Context(), f.client, "hypershift"); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	if err := f.client.Get(t.Context(), console, made); err != nil || made.Labels["console.openshift.io/dashboard"] != "true" {
		t.Fatalf("for the console: %v, %v", made.Labels, err)
	}
	f.reconcile(t)
	before := f.writes.Load()
	f.reconcile(t)
	if f.writes.Load() != before {
		t.Error("a dashboard that is there is written again")
	}

	f.reconciler.Dashboards = dashboards.Options{}
	f.reconcile(t)
	for _, key := range []client.ObjectKey{own, console} {
		if err := f.client.Get(t.Context(), key, made); !apierrors.IsNotFound(err) {
			t.Errorf("%s is left: %v", key, err)
		}
	}
}
