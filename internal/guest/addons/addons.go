// Package addons is what a guest has of its payload, and what others expect to find in it, as objects.
package addons

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons/definitions"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// addon is one part of the guest that exists when the payload has its images.
type addon struct {
	images  []string
	objects func(*inside.Facts) []client.Object
	// kind of payload with which it exists; each where empty.
	kind release.Kind
}

var addons = []addon{
	{objects: access.Nodes},
	{objects: definitions.Configuration, kind: release.KindKubernetes},
	{objects: definitions.RequestCounts, kind: release.KindOpenShift},
	{objects: access.ControlPlane},
	{objects: access.Metrics},
	{objects: namespaces},
	{objects: access.Controllers, kind: release.KindKubernetes},
	{objects: access.Users, kind: release.KindKubernetes},
	{objects: access.OpenShiftControllers, kind: release.KindOpenShift},
	{objects: access.OpenShiftUsers, kind: release.KindOpenShift},
	{objects: installFacts},
	{objects: installConfig},
	{objects: reachability},
	{objects: aggregation},
	{objects: login, kind: release.KindOpenShift},
	{objects: kubeadmin, kind: release.KindOpenShift},
	{objects: serviceTrust, kind: release.KindOpenShift},
	{images: []string{contract.ImageKonnectivity}, objects: konnectivityAgent},
	{images: []string{checkerImage}, objects: connectionChecker},
	{images: []string{checkerImage}, objects: pullSecrets},
	{images: []string{contract.AzureNodeManager}, objects: cloudNodeManager},
	{images: []string{webhookName}, objects: workloadIdentityWebhook},
	{objects: cloudCredentials},
	{images: []string{contract.DiskDriver, registrarImage, contract.CSILivenessProbe}, objects: disks},
	{images: []string{contract.DiskDriver, contract.SnapshotController}, objects: definitions.Snapshots},
	{images: []string{inside.MetricsImage}, objects: metricsServer},
	{images: []string{inside.RouterImage}, objects: defaultIngress},
	{objects: ingressNeeds, kind: release.KindOpenShift},
	{images: []string{forwarderImage}, objects: metricsForwarder, kind: release.KindOpenShift},
	{images: []string{contract.KubeProxy}, objects: kubeProxy},
	{images: []string{inside.FlannelName}, objects: networkPlugin},
	{images: []string{"coredns"}, objects: coreDNS},
}

// Objects is everything the operator keeps in the guest.
func Objects(facts *inside.Facts) []client.Object {
	var out []client.Object
	for _, part := range addons {
		if !facts.Of(part.kind) || !facts.Has(part.images...) {
			continue
		}
		out = append(out, part.objects(facts)...)
	}
	for _, obj := range out {
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[hyperv1.ManagedByLabel] = inside.ManagedBy
		obj.SetLabels(labels)
	}
	return out
}
