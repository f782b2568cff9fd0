package addons

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// aggregation makes Services of the guest lead to the aggregated API servers beside the control plane: their addresses are reached through
// the tunnel, whose agent there answers to them. The guest's own controller makes slices of the Endpoints.
//
//nolint:staticcheck // Endpoints are deprecated, not gone
func aggregation(facts *inside.Facts) []client.Object {
	var out []client.Object
	for _, name := range slices.Sorted(maps.Keys(facts.Aggregated)) {
		meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}
		out = append(out,
			&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}}}},
			&corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
				Addresses: []corev1.EndpointAddress{{IP: facts.Aggregated[name]}},
				Ports:     []corev1.EndpointPort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}},
			}}})
	}
	return out
}
