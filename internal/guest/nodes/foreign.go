package nodes

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

// azureProvider begins the provider id of a Node that is a virtual machine of Azure.
const azureProvider = "azure://"

// removeForeign deletes a Node of another hosted cluster and tells whether it did. A backup of etcd brings the Nodes of the cluster that it
// was taken of. Where that one lives on, nobody else takes them away: the cloud-controller-manager asks about their virtual machines, and
// its identity may not look into the other cluster's resource group. Pods stay bound to them, DNS among them.
func (r *reconciler) removeForeign(ctx context.Context, node *corev1.Node) (bool, error) {
	if !strings.HasPrefix(node.Spec.ProviderID, azureProvider) {
		return false, nil // it has just joined, or is of no cloud
	}
	hcp, err := plane.Find(ctx, r.management, r.namespace)
	if err != nil || !isForeign(node.Spec.ProviderID, hcp) {
		return false, err
	}
	claimed, err := r.claimed(ctx, node.Spec.ProviderID)
	if err != nil || claimed {
		return false, err
	}
	group := hcp.Spec.Platform.Azure.ResourceGroupName
	r.events.Eventf(node, nil, corev1.EventTypeWarning, "ForeignNode", "Delete",
		"virtual machine %s is not in resource group %s of this hosted cluster: the Node came with a backup of another cluster and is removed", node.Spec.ProviderID, group)
	ctrl.LoggerFrom(ctx).Info("remove a Node of another hosted cluster", "node", node.Name, "providerID", node.Spec.ProviderID, "resourceGroup", group)
	err = r.guest.Delete(ctx, node, client.Preconditions{UID: &node.UID})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("remove node %s of another hosted cluster: %w", node.Name, err)
	}
	return true, nil
}

// isForeign: every machine of a hosted cluster is in its resource group, unless its user keeps machines himself. Azure compares ids without
// regard to case.
func isForeign(providerID string, hcp *hyperv1.HostedControlPlane) bool {
	platform := hcp.Spec.Platform.Azure
	_, kept := hcp.Annotations[hyperv1.DisableMachineManagementAnnotation]
	if platform == nil || kept {
		return false
	}
	id, err := azure.ParseID(strings.TrimPrefix(providerID, azureProvider))
	if err != nil {
		return false // no virtual machine that could be somebody else's
	}
	return !strings.EqualFold(id.SubscriptionID, platform.SubscriptionID) || !strings.EqualFold(id.ResourceGroup, platform.ResourceGroupName)
}

// claimed tells whether a Machine of this cluster is the virtual machine.
func (r *reconciler) claimed(ctx context.Context, providerID string) (bool, error) {
	machines, err := r.machines(ctx)
	if err != nil {
		return false, err
	}
	for i := range machines {
		if own, _, _ := unstructured.NestedString(machines[i].Object, "spec", "providerID"); strings.EqualFold(own, providerID) {
			return true, nil
		}
	}
	return false, nil
}
