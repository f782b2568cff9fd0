package hostedcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
)

const (
	// consoleNamespace is where OpenShift's console looks for dashboards.
	consoleNamespace = "openshift-config-managed"
	dashboardKey     = "hostedcluster-dashboard.json"
)

// Dashboards tells where the dashboards of hosted clusters come from and go to; without a template there are none.
type Dashboards struct {
	Template client.ObjectKey
	// Namespace for all of them; empty puts each into its control plane's.
	Namespace string
}

// ProbeDashboards are those of an operator in the namespace.
func ProbeDashboards(ctx context.Context, live client.Reader, namespace string) (Dashboards, error) {
	found := Dashboards{Template: client.ObjectKey{Namespace: namespace, Name: metrics.DashboardTemplate}, Namespace: consoleNamespace}
	err := live.Get(ctx, client.ObjectKey{Name: consoleNamespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		found.Namespace, err = "", nil
	}
	if err != nil {
		return Dashboards{}, fmt.Errorf("read namespace %s, for dashboards: %w", consoleNamespace, err)
	}
	return found, nil
}

func (p *pass) dashboard(namespace string) *corev1.ConfigMap {
	if namespace == "" {
		namespace = p.namespace
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.namespace + "-dashboard"}}
}

// ensureDashboard keeps the dashboard of this cluster, labelled for OpenShift's console and for Grafana.
func (p *pass) ensureDashboard(ctx context.Context) error {
	if p.Dashboards.Template.Name == "" {
		_, err := p.deleteDashboard(ctx)
		return err
	}
	template := &corev1.ConfigMap{}
	if err := p.Get(ctx, p.Dashboards.Template, template); err != nil {
		return fmt.Errorf("read the template of dashboards, which `install --monitoring-dashboards` makes: %w", err)
	}
	text, err := metrics.ClusterDashboard(template.Data[metrics.DashboardTemplateKey], p.hc.Namespace, p.hc.Name, p.hc.Spec.ClusterID)
	if err != nil {
		return err
	}
	made := p.dashboard(p.Dashboards.Namespace)
	made.Labels = map[string]string{"console.openshift.io/dashboard": "true", "grafana_dashboard": "1"}
	made.Data = map[string]string{dashboardKey: text}
	return p.apply(ctx, made)
}

// deleteDashboard looks in both places: the operator may have been told otherwise since.
func (p *pass) deleteDashboard(ctx context.Context) (string, error) {
	for _, namespace := range []string{consoleNamespace, p.namespace} {
		made := p.dashboard(namespace)
		err := p.Get(ctx, client.ObjectKeyFromObject(made), made)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", kube.Describe(made), err)
		}
		if !p.owns(made) {
			continue
		}
		if err := kube.DeleteIfExists(ctx, p.Client, made); err != nil {
			return "", err
		}
	}
	return "", nil
}
