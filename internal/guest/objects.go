package guest

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// addon is one part of the guest that exists when the payload has its images.
type addon struct {
	images  []string
	objects func(*Facts) []client.Object
}

var addons = []addon{
	{nil, clusterRBAC},
	{nil, definitions},
	{nil, controlPlaneAccess},
	{nil, metricsAccess},
	{nil, namespaces},
	{nil, controllerRights},
	{nil, commonRights},
	{nil, installFacts},
	{nil, installConfig},
	{nil, reachability},
	{[]string{"apiserver-network-proxy"}, konnectivityAgent},
	{[]string{checkerImage}, connectionChecker},
	{[]string{"azure-cloud-node-manager"}, cloudNodeManager},
	{[]string{webhookName}, workloadIdentityWebhook},
	{nil, cloudCredentials},
	{[]string{routerImage}, defaultIngress},
	{[]string{"kube-proxy"}, kubeProxy},
	{[]string{flannelName}, networkPlugin},
	{[]string{"coredns"}, coreDNS},
}

// Objects is everything the operator keeps in the guest.
func Objects(facts *Facts) []client.Object {
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
		labels[hyperv1.ManagedByLabel] = managedBy
		obj.SetLabels(labels)
	}
	return out
}
