package machines

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

const managedByAnnotation = "cluster.x-k8s.io/managed-by"

type object = map[string]any

// coreCluster refers to the hosted control plane and to the infrastructure by group and kind; Cluster API finds the versions through
// the contract labels of the CRDs. Without the control plane's reference Machines would never get their node.
func coreCluster(c *cluster.Cluster) *unstructured.Unstructured {
	spec := object{
		"controlPlaneRef":   object{"apiGroup": hyperv1.GroupVersion.Group, "kind": "HostedControlPlane", "name": c.Name},
		"infrastructureRef": object{"apiGroup": clusterapi.AzureCluster.Group, "kind": clusterapi.AzureCluster.Kind, "name": c.Name},
	}
	return clusterapi.NewWithSpec(clusterapi.Cluster, c.Namespace, c.InfraID(), spec)
}

func azureIdentity(c *cluster.Cluster, platform *hyperv1.AzurePlatformSpec) *unstructured.Unstructured {
	return clusterapi.NewWithSpec(clusterapi.AzureClusterIdentity, c.Namespace, c.Name, object{
		"type":              "WorkloadIdentity",
		"tenantID":          platform.TenantID,
		"clientID":          string(platform.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID),
		"allowedNamespaces": object{"list": []any{c.Namespace}},
	})
}

// azureCluster describes infrastructure that somebody else manages: network and load balancers exist before the cluster does.
func azureCluster(c *cluster.Cluster, platform *hyperv1.AzurePlatformSpec, endpoint hyperv1.APIEndpoint) (*unstructured.Unstructured, error) {
	vnet, err := azure.ParseIDOf(platform.VnetID, "Microsoft.Network/virtualNetworks")
	if err != nil {
		return nil, fmt.Errorf("spec.platform.azure.vnetID: %w", err)
	}
	subnet, err := azure.ParseIDOf(platform.SubnetID, "Microsoft.Network/virtualNetworks/subnets")
	if err != nil {
		return nil, fmt.Errorf("spec.platform.azure.subnetID: %w", err)
	}
	spec := object{
		"location":         platform.Location,
		"subscriptionID":   platform.SubscriptionID,
		"resourceGroup":    platform.ResourceGroupName,
		"azureEnvironment": cluster.AzureEnvironment(platform),
		"identityRef": object{
			"apiVersion": clusterapi.AzureClusterIdentity.GroupVersion().String(), "kind": clusterapi.AzureClusterIdentity.Kind, "name": c.Name, "namespace": c.Namespace,
		},
		"networkSpec": object{
			"vnet":           object{"id": platform.VnetID, "name": vnet.Name, "resourceGroup": vnet.ResourceGroup},
			"subnets":        []any{object{"name": subnet.Name, "role": "node", "id": platform.SubnetID}},
			"nodeOutboundLB": object{"name": c.InfraID(), "backendPool": object{"name": c.InfraID()}},
		},
	}
	if endpoint.Host != "" {
		spec["controlPlaneEndpoint"] = object{"host": endpoint.Host, "port": int64(endpoint.Port)}
	}
	obj := clusterapi.NewWithSpec(clusterapi.AzureCluster, c.Namespace, c.Name, spec)
	obj.SetLabels(map[string]string{contract.ClusterNameLabel: c.InfraID()})
	obj.SetAnnotations(map[string]string{managedByAnnotation: "external"})
	return obj, nil
}
