// Package configuration is what a hosted cluster says about itself in OpenShift's kinds, and what keeps its users from changing it there.
package configuration

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// ClusterVersionName is the name of the one ClusterVersion.
const ClusterVersionName = "version"

// configuration is what a hosted cluster says about itself in kinds that must be defined first.
var configuration = []func(*inside.Facts) []*unstructured.Unstructured{
	clusterVersion,
	singletons,
	guards,
	policyNotices,
	ownNodes,
	snapshotClass,
	metricsAPI,
	aggregatedAPIs,
}

// Objects is every object of OpenShift's configuration that the operator keeps in the guest; their statuses, where they have
// one, are applied too.
func Objects(facts *inside.Facts) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, objects := range configuration {
		out = append(out, objects(facts)...)
	}
	for _, obj := range out {
		obj.SetLabels(map[string]string{hyperv1.ManagedByLabel: inside.ManagedBy})
	}
	return out
}

// configObject makes an object of config.openshift.io; a nil status is left to whoever writes it.
func configObject(kind, name string, spec, status map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if status != nil {
		obj.Object["status"] = status
	}
	obj.SetGroupVersionKind(configv1.GroupVersion.WithKind(kind))
	obj.SetName(name)
	return obj
}

// clusterVersion is the identity of the cluster; its status is the version controller's.
func clusterVersion(facts *inside.Facts) []*unstructured.Unstructured {
	hcp := facts.HCP
	spec := map[string]any{"clusterID": hcp.Spec.ClusterID}
	if hcp.Spec.Channel != "" {
		spec["channel"] = hcp.Spec.Channel
	}
	if hcp.Spec.UpdateService != "" {
		spec["upstream"] = hcp.Spec.UpdateService
	}
	return []*unstructured.Unstructured{configObject("ClusterVersion", ClusterVersionName, spec, nil)}
}
