// Package addons is what a guest has of its payload, and what others expect to find in it, as objects.
package addons

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// addon is one part of the guest that exists when the payload has its images.
type addon struct {
	images  []string
	objects func(*inside.Facts) []client.Object
}

var addons = []addon{
	{nil, access.Nodes},
	{nil, definitions},
	{nil, access.ControlPlane},
	{nil, access.Metrics},
	{nil, namespaces},
	{nil, access.Controllers},
	{nil, access.Users},
	{nil, installFacts},
	{nil, installConfig},
	{nil, reachability},
	{nil, aggregation},
	{nil, login},
	{nil, serviceTrust},
	{[]string{"apiserver-network-proxy"}, konnectivityAgent},
	{[]string{checkerImage}, connectionChecker},
	{[]string{checkerImage}, pullSecrets},
	{[]string{"azure-cloud-node-manager"}, cloudNodeManager},
	{[]string{webhookName}, workloadIdentityWebhook},
	{nil, cloudCredentials},
	{[]string{contract.DiskDriver, registrarImage, contract.CSILivenessProbe}, disks},
	{[]string{contract.DiskDriver, contract.SnapshotController}, snapshots},
	{[]string{inside.MetricsImage}, metricsServer},
	{[]string{inside.RouterImage}, defaultIngress},
	{[]string{"kube-proxy"}, kubeProxy},
	{[]string{inside.FlannelName}, networkPlugin},
	{[]string{"coredns"}, coreDNS},
}

// Objects is everything the operator keeps in the guest.
func Objects(facts *inside.Facts) []client.Object {
	var out []client.Object
	for _, part := range addons {
		if !facts.Has(part.images...) {
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
