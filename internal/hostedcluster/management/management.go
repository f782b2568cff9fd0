// Package management finds out what the management cluster offers.
package management

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// Capabilities are the optional APIs of the management cluster; a missing one switches behaviour off.
type Capabilities struct {
	// Routes: route.openshift.io is served, so services can be published by Route.
	Routes bool
	// EtcdBackups: HCPEtcdBackup, a technology preview, is served.
	EtcdBackups bool
	// OpenShiftDNS: name servers are pods of namespace openshift-dns.
	OpenShiftDNS bool
	// SecurityContextConstraints: the cluster chooses the user id of pods; without it this operator does.
	SecurityContextConstraints bool
}

// Probe finds out which optional APIs the management cluster serves.
func Probe(mapper meta.RESTMapper) (Capabilities, error) {
	var capabilities Capabilities
	for kind, found := range map[schema.GroupKind]*bool{
		publish.RouteKind.GroupKind():                                        &capabilities.Routes,
		hyperv1.GroupVersion.WithKind("HCPEtcdBackup").GroupKind():           &capabilities.EtcdBackups,
		{Group: "operator.openshift.io", Kind: "DNS"}:                        &capabilities.OpenShiftDNS,
		{Group: "security.openshift.io", Kind: "SecurityContextConstraints"}: &capabilities.SecurityContextConstraints,
	} {
		_, err := mapper.RESTMapping(kind)
		if err != nil && !meta.IsNoMatchError(err) {
			return Capabilities{}, fmt.Errorf("ask the management cluster for %s: %w", kind, err)
		}
		*found = err == nil
	}
	return capabilities, nil
}

// IngressDomain is the domain of the management cluster's default router; empty when it has none.
func IngressDomain(ctx context.Context, live client.Reader) (string, error) {
	ingress := &unstructured.Unstructured{}
	ingress.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Ingress"})
	err := live.Get(ctx, client.ObjectKey{Name: "cluster"}, ingress)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the management cluster's Ingress configuration: %w", err)
	}
	domain, _, err := unstructured.NestedString(ingress.Object, "spec", "domain")
	if err != nil {
		return "", fmt.Errorf("the management cluster's Ingress configuration is malformed: %w", err)
	}
	return domain, nil
}
