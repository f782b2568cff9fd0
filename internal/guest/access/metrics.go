package access

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	metricsClient = "hypershift-metrics-client"
	// metricsUser is whom the certificate of Secret metrics-client names. Programs of the control plane ask the guest what it may.
	metricsUser = "system:serviceaccount:hypershift:prometheus"
)

// Metrics lets the management cluster's Prometheus read metrics, and nothing else.
func Metrics(*inside.Facts) []client.Object {
	read := rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}
	return []client.Object{ClusterRole(metricsClient, read), Bind(metricsClient, metricsClient, user(metricsUser))}
}
