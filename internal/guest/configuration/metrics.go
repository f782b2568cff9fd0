package configuration

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// metricsAPI has the guest's API server ask the server of resource metrics, whose certificate is of the control plane's authority.
func metricsAPI(facts *inside.Facts) []*unstructured.Unstructured {
	if !facts.Has(inside.MetricsImage) {
		return nil
	}
	return []*unstructured.Unstructured{apiService(facts, "metrics.k8s.io", "v1beta1", 100, 100,
		map[string]any{"namespace": inside.KubeSystem, "name": inside.MetricsService, "port": int64(443)})}
}
