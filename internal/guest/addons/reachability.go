package addons

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// reachability makes the Service default/kubernetes lead to the node-local proxies: the API server's own reconciler is off, its
// address means nothing to a guest. The mirror label keeps the controller manager from making a second slice.
func reachability(facts *inside.Facts) []client.Object {
	name := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  name,
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{facts.APIAddress}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(facts.APIPort), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "kubernetes"}
	return []client.Object{slice, legacyEndpoints(name, facts)}
}

// legacyEndpoints: old clients, and the conformance suite, still read Endpoints.
//
//nolint:staticcheck // the kind is deprecated, not gone
func legacyEndpoints(name metav1.ObjectMeta, facts *inside.Facts) *corev1.Endpoints {
	name.Labels = map[string]string{discoveryv1.LabelSkipMirror: "true"}
	return &corev1.Endpoints{
		ObjectMeta: name,
		Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: facts.APIAddress}},
			Ports:     []corev1.EndpointPort{{Name: "https", Port: facts.APIPort, Protocol: corev1.ProtocolTCP}},
		}},
	}
}
