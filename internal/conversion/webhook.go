// Package conversion serves the versions of Cluster API's kinds: the webhook that the management API server calls to convert an
// object, and the certificate by which it trusts that webhook. Every replica of the operator serves, the leader or not.
package conversion

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1" //nolint:staticcheck // deprecated, and converted as long as anybody writes it
	addonsv1beta2 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	corev1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // deprecated, and converted as long as anybody writes it
	corev1beta2 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1" //nolint:staticcheck // deprecated, and converted as long as anybody writes it
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"   //nolint:staticcheck // deprecated, and converted as long as anybody writes it
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// Handler answers the API server's requests with Cluster API's own conversion functions. Those look references up by one function
// for the whole program, so there should be one handler.
func Handler(live client.Reader, mapper meta.RESTMapper) (http.Handler, error) {
	lookup := &references{live: live, mapper: mapper, known: map[schema.GroupKind]known{}}
	corev1beta1.SetAPIVersionGetter(lookup.apiVersion)
	scheme := runtime.NewScheme()
	err := errors.Join(
		corev1beta1.AddToScheme(scheme), corev1beta2.AddToScheme(scheme),
		addonsv1beta1.AddToScheme(scheme), addonsv1beta2.AddToScheme(scheme),
		ipamv1alpha1.AddToScheme(scheme), ipamv1beta1.AddToScheme(scheme), ipamv1beta2.AddToScheme(scheme),
	)
	if err != nil {
		return nil, fmt.Errorf("register the versions of Cluster API: %w", err)
	}
	return conversion.NewWebhookHandler(scheme, conversion.NewRegistry()), nil
}
