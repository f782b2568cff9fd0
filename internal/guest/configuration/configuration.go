// Package configuration is what a hosted cluster says about itself in OpenShift's kinds, and what keeps its users from changing it there.
package configuration

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// ClusterVersionName is the name of the one ClusterVersion.
const ClusterVersionName = "version"

// part of the configuration.
type part struct {
	objects func(*inside.Facts) []*unstructured.Unstructured
	// kind of payload with which it exists; each where empty.
	kind release.Kind
}

// configuration is what a hosted cluster says about itself in kinds that must be defined first.
var configuration = []part{
	{objects: clusterVersion},
	{objects: clusterSingletons},
	{objects: guards},
	{objects: policyNotices},
	{objects: ownNodes},
	{objects: snapshotClass},
	{objects: metricsAPI},
	{objects: aggregatedAPIs},
	{objects: storage, kind: release.KindOpenShift},
	{objects: operatorHub, kind: release.KindOpenShift},
	{objects: catalogs, kind: release.KindOpenShift},
	{objects: monitors, kind: release.KindOpenShift},
	{objects: forwarderMonitor, kind: release.KindOpenShift},
}

// OptionalKinds are those that may have no object.
func OptionalKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{MirrorSetKind, CatalogKind, PodMonitorKind}
}

// Objects is every object of OpenShift's configuration that the operator keeps in the guest; their statuses, where they have
// one, are applied too.
func Objects(facts *inside.Facts) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, part := range configuration {
		if facts.Of(part.kind) {
			out = append(out, part.objects(facts)...)
		}
	}
	for _, obj := range out {
		obj.SetLabels(map[string]string{hyperv1.ManagedByLabel: inside.ManagedBy})
	}
	return out
}

func object(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// clusterVersion is the identity of the cluster, with the capabilities that its version operator knows; its status is the version controller's,
// or that operator's.
func clusterVersion(facts *inside.Facts) []*unstructured.Unstructured {
	hcp := facts.HCP
	spec := map[string]any{"clusterID": hcp.Spec.ClusterID}
	if hcp.Spec.Channel != "" {
		spec["channel"] = hcp.Spec.Channel
	}
	if hcp.Spec.UpdateService != "" {
		spec["upstream"] = hcp.Spec.UpdateService
	}
	if len(facts.KnownCapabilities) > 0 {
		wanted := slices.DeleteFunc(clusterconfig.Capabilities(hcp.Spec.Capabilities), func(name string) bool { return !slices.Contains(facts.KnownCapabilities, name) })
		spec["capabilities"] = map[string]any{"baselineCapabilitySet": string(configv1.ClusterVersionCapabilitySetNone), "additionalEnabledCapabilities": singletons.Texts(wanted)}
	}
	return []*unstructured.Unstructured{singletons.Object("ClusterVersion", ClusterVersionName, spec, nil)}
}
