package publish

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// metrics is where the hosted cluster reads the metrics of its control plane. It is published beside what machines read.
var metrics = published{hyperv1.Ignition, contract.MetricsProxy, contract.MetricsProxy, httpsPort}

// metricsRoute is always a Route: nothing else leads to the proxy.
func metricsRoute(hcp *hyperv1.HostedControlPlane, plan Plan) route {
	r, ok := routeOf(hcp, plan, metrics)
	if !ok {
		return route{published: metrics}
	}
	if _, domain, found := strings.Cut(plan.hostname(hyperv1.Ignition), "."); found {
		r.host = contract.MetricsProxy + "-" + hcp.Name + "." + domain
	}
	return r
}

// MetricsObjects is the Route in front of the proxy of metrics.
func MetricsObjects(hcp *hyperv1.HostedControlPlane, ingressDomain string) []client.Object {
	obj := metricsRoute(hcp, PlanOf(hcp)).object(hcp, ingressDomain)
	component.Own(hcp, obj)
	return []client.Object{obj}
}

// RemoveMetrics takes the Route away from a control plane whose metrics are not forwarded any more.
func RemoveMetrics(ctx context.Context, c client.Client, hcp *hyperv1.HostedControlPlane) error {
	obj, _, err := getRoute(ctx, c, hcp.Namespace, metrics.name)
	if err != nil || obj == nil || !metav1.IsControlledBy(obj, hcp) {
		return err
	}
	return kube.DeleteIfExists(ctx, c, obj)
}

// ReadMetrics looks up where the proxy of metrics is reached; nowhere yet until its Route is admitted.
func ReadMetrics(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane) (Endpoint, error) {
	r := metricsRoute(hcp, PlanOf(hcp))
	if r.router != "" {
		endpoint, _, err := readOwnRoute(ctx, c, hcp, r)
		return endpoint, err
	}
	endpoint, _, err := readRoute(ctx, c, hcp.Namespace, r.name)
	return endpoint, err
}
