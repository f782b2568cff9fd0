package status

import (
	"context"
	"fmt"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// observeIgnition reports whether the ignition server can answer machines.
func observeIgnition(ctx context.Context, c *cluster.Cluster) error {
	server := &appsv1.Deployment{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: contract.IgnitionServer}, server)
	if apierrors.IsNotFound(err) {
		c.Conditions().False(hyperv1.IgnitionEndpointAvailable, hyperv1.NotFoundReason, "The ignition server does not exist yet.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Deployment %s: %w", contract.IgnitionServer, err)
	}
	for _, condition := range server.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
			c.Conditions().True(hyperv1.IgnitionEndpointAvailable, hyperv1.AsExpectedReason, "The ignition server is available.")
			return nil
		}
	}
	c.Conditions().False(hyperv1.IgnitionEndpointAvailable, hyperv1.WaitingForAvailableReason, "The ignition server is not available yet.")
	return nil
}

// ignitionEndpoint is where machines fetch their configuration: the hostname the user chose, else what the router admitted.
func ignitionEndpoint(ctx context.Context, c *cluster.Cluster, routes bool) (string, error) {
	strategy := cluster.Strategy(c.Hosted, hyperv1.Ignition)
	if strategy.NodePort != nil {
		return ignitionNodePort(ctx, c, strategy.NodePort)
	}
	if host := cluster.PublishedHost(strategy); host != "" {
		return host, nil
	}
	if strategy.Type != hyperv1.Route || !routes {
		return "", nil
	}
	route, err := c.Find(ctx, publish.RouteKind, contract.IgnitionServer)
	if err != nil || route == nil {
		return "", err
	}
	return publish.AdmittedHost(route), nil
}

// ignitionNodePort is empty until Kubernetes has chosen the port that the user left open.
func ignitionNodePort(ctx context.Context, c *cluster.Cluster, published *hyperv1.NodePortPublishingStrategy) (string, error) {
	port := published.Port
	if port == 0 {
		service := &corev1.Service{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: publish.IgnitionProxyService}, service)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read Service %s: %w", publish.IgnitionProxyService, err)
		}
		for _, served := range service.Spec.Ports {
			port = served.NodePort
		}
	}
	if port == 0 {
		return "", nil
	}
	return net.JoinHostPort(published.Address, strconv.Itoa(int(port))), nil
}
