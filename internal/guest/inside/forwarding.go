package inside

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

const (
	// MetricsForwarder is the Deployment in front of the proxy, and its monitor.
	MetricsForwarder = "control-plane-metrics-forwarder"
	// MetricsProxyServingCA is a ConfigMap with the authority of the proxy's certificate.
	MetricsProxyServingCA = "metrics-proxy-serving-ca"
)

// Forwarding is where the metrics of the control plane are read.
type Forwarding struct {
	// Host of the proxy, and the authority of its certificate, PEM.
	Host, CA string
	// Components are the programs that it shows, by name.
	Components []string
}

// forwarding reads what the control plane says of its proxy: nothing until it can be reached and has something to show.
func (r *Reader) forwarding(ctx context.Context, facts *Facts) error {
	if !clusterconfig.ForwardsMetrics(facts.HCP) {
		return nil
	}
	told := &corev1.ConfigMap{}
	if err := r.Management.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: contract.MetricsProxyConfig}, told); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read ConfigMap %s of the control plane: %w", contract.MetricsProxyConfig, err)
	}
	config := monitor.Proxy{}
	if err := yaml.Unmarshal([]byte(told.Data["config.yaml"]), &config); err != nil {
		return fmt.Errorf("read key config.yaml of ConfigMap %s: %w", contract.MetricsProxyConfig, err)
	}
	found := &Forwarding{Host: told.Data[contract.MetricsProxyHost], CA: told.Data[contract.CAKey]}
	for _, c := range config.Components {
		found.Components = append(found.Components, c.Name)
	}
	if found.Host != "" && found.CA != "" && len(found.Components) > 0 {
		facts.Forwarding = found
	}
	return nil
}
