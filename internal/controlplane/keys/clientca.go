package keys

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// clientCAs are the authorities of client certificates besides the control plane's own, PEM: the user's, and those of access for emergencies.
func clientCAs(ctx context.Context, c client.Client, hcp *hyperv1.HostedControlPlane) ([]byte, error) {
	own, err := userClientCA(ctx, c, hcp)
	if err != nil {
		return nil, err
	}
	bundle := &corev1.ConfigMap{}
	err = c.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: contract.TotalClientCA}, bundle)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the authorities of access for emergencies, ConfigMap %s: %w", contract.TotalClientCA, err)
	}
	if text := bundle.Data[contract.ClientCABundleKey]; text != "" {
		own = append(append(own, '\n'), text...)
	}
	return own, nil
}

// userClientCA is the authority of client certificates that spec.configuration.apiServer.clientCA names, PEM. One that is not there yet
// is no reason to keep the cluster's own from being trusted: the HostedCluster's conditions tell that it is missing.
func userClientCA(ctx context.Context, c client.Client, hcp *hyperv1.HostedControlPlane) ([]byte, error) {
	config, err := clusterconfig.APIServerOf(hcp)
	if err != nil || config.ClientCA.Name == "" {
		return nil, err
	}
	bundle := &corev1.ConfigMap{}
	err = c.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: config.ClientCA.Name}, bundle)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the user's client authority, ConfigMap %s: %w", config.ClientCA.Name, err)
	}
	return []byte(bundle.Data[hyperv1.TrustBundleKey]), nil
}
