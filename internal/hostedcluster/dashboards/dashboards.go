// Package dashboards keeps the dashboards of hosted clusters, labelled for OpenShift's console and for Grafana.
package dashboards

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

const (
	// consoleNamespace is where OpenShift's console looks for dashboards.
	consoleNamespace = contract.ManagedNamespace
	dashboardKey     = "hostedcluster-dashboard.json"
)

// Options tell where the dashboards of hosted clusters come from and go to; without a template there are none.
type Options struct {
	Template client.ObjectKey
	// Namespace for all of them; empty puts each into its control plane's.
	Namespace string
}

// Probe finds the options of an operator in the namespace.
func Probe(ctx context.Context, live client.Reader, namespace string) (Options, error) {
	found := Options{Template: client.ObjectKey{Namespace: namespace, Name: series.DashboardTemplate}, Namespace: consoleNamespace}
	err := live.Get(ctx, client.ObjectKey{Name: consoleNamespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		found.Namespace, err = "", nil
	}
	if err != nil {
		return Options{}, fmt.Errorf("read namespace %s, for dashboards: %w", consoleNamespace, err)
	}
	return found, nil
}

func dashboard(c *cluster.Cluster, namespace string) *corev1.ConfigMap {
	if namespace == "" {
		namespace = c.Namespace
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.Namespace + "-dashboard"}}
}

// Ensure keeps the dashboard of this cluster, labelled for OpenShift's console and for Grafana.
func Ensure(ctx context.Context, c *cluster.Cluster, options Options) error {
	if options.Template.Name == "" {
		return Delete(ctx, c)
	}
	template := &corev1.ConfigMap{}
	if err := c.Client.Get(ctx, options.Template, template); err != nil {
		return fmt.Errorf("read the template of dashboards, which `install --monitoring-dashboards` makes: %w", err)
	}
	text, err := metrics.ClusterDashboard(template.Data[series.DashboardTemplateKey], c.Hosted.Namespace, c.Hosted.Name, c.Hosted.Spec.ClusterID)
	if err != nil {
		return err
	}
	made := dashboard(c, options.Namespace)
	made.Labels = map[string]string{"console.openshift.io/dashboard": "true", "grafana_dashboard": "1"}
	made.Data = map[string]string{dashboardKey: text}
	return c.Apply(ctx, made)
}

// Delete removes the dashboard of this cluster. It looks in both places: the operator may have been told otherwise since.
func Delete(ctx context.Context, c *cluster.Cluster) error {
	for _, namespace := range []string{consoleNamespace, c.Namespace} {
		made := dashboard(c, namespace)
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(made), made)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", kube.Describe(made), err)
		}
		if !c.Owns(made) {
			continue
		}
		if err := kube.DeleteIfExists(ctx, c.Client, made); err != nil {
			return err
		}
	}
	return nil
}
