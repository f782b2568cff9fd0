package hostedcluster

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Kinds of Cluster API and of its Azure provider that this operator writes. They are written as plain maps: the provider's Go
// module would bring half of Azure's with it, and the API server checks the maps against the same schemas.
var (
	clusterKind         = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
	machineKind         = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	azureClusterKind    = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "AzureCluster"}
	azureMachineKind    = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "AzureMachine"}
	azureIdentityKind   = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "AzureClusterIdentity"}
	routeKind           = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}
	clusterNameLabel    = "cluster.x-k8s.io/cluster-name"
	managedByAnnotation = "cluster.x-k8s.io/managed-by"
)

type object = map[string]any

func newObject(kind schema.GroupVersionKind, namespace, name string, spec object) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: object{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if spec != nil {
		obj.Object["spec"] = spec
	}
	return obj
}

// capiCluster refers to the hosted control plane and to the infrastructure by group and kind; Cluster API finds the versions through
// the contract labels of the CRDs. Without the control plane's reference Machines would never get their node.
func (n names) capiCluster() *unstructured.Unstructured {
	spec := object{
		"controlPlaneRef":   object{"apiGroup": hyperv1.GroupVersion.Group, "kind": "HostedControlPlane", "name": n.cluster},
		"infrastructureRef": object{"apiGroup": azureClusterKind.Group, "kind": azureClusterKind.Kind, "name": n.cluster},
	}
	return newObject(clusterKind, n.namespace, n.infraID, spec)
}

func (n names) azureIdentity(azure *hyperv1.AzurePlatformSpec) *unstructured.Unstructured {
	return newObject(azureIdentityKind, n.namespace, n.cluster, object{
		"type":              "WorkloadIdentity",
		"tenantID":          azure.TenantID,
		"clientID":          string(azure.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID),
		"allowedNamespaces": object{"list": []any{n.namespace}},
	})
}

// azureCluster describes infrastructure that somebody else manages: network and load balancers exist before the cluster does.
func (n names) azureCluster(azure *hyperv1.AzurePlatformSpec, endpoint hyperv1.APIEndpoint) (*unstructured.Unstructured, error) {
	vnet, err := parseResourceID(azure.VnetID, "virtualNetworks")
	if err != nil {
		return nil, fmt.Errorf("spec.platform.azure.vnetID: %w", err)
	}
	subnet, err := parseResourceID(azure.SubnetID, "subnets")
	if err != nil {
		return nil, fmt.Errorf("spec.platform.azure.subnetID: %w", err)
	}
	spec := object{
		"location":         azure.Location,
		"subscriptionID":   azure.SubscriptionID,
		"resourceGroup":    azure.ResourceGroupName,
		"azureEnvironment": azureEnvironment(azure),
		"identityRef": object{
			"apiVersion": azureIdentityKind.GroupVersion().String(), "kind": azureIdentityKind.Kind, "name": n.cluster, "namespace": n.namespace,
		},
		"networkSpec": object{
			"vnet":           object{"id": azure.VnetID, "name": vnet.name, "resourceGroup": vnet.group},
			"subnets":        []any{object{"name": subnet.name, "role": "node", "id": azure.SubnetID}},
			"nodeOutboundLB": object{"name": n.infraID, "backendPool": object{"name": n.infraID}},
		},
	}
	if endpoint.Host != "" {
		spec["controlPlaneEndpoint"] = object{"host": endpoint.Host, "port": int64(endpoint.Port)}
	}
	obj := newObject(azureClusterKind, n.namespace, n.cluster, spec)
	obj.SetLabels(map[string]string{clusterNameLabel: n.infraID})
	obj.SetAnnotations(map[string]string{managedByAnnotation: "external"})
	return obj, nil
}

func azureEnvironment(azure *hyperv1.AzurePlatformSpec) string {
	if azure.Cloud == "" {
		return "AzurePublicCloud"
	}
	return azure.Cloud
}

type resourceID struct{ group, name string }

// parseResourceID takes group and name out of /subscriptions/S/resourceGroups/G/providers/.../<kind>/<name>[...]; Azure compares the
// fixed parts without regard to case.
func parseResourceID(id, kind string) (resourceID, error) {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	var found resourceID
	for i := 0; i+1 < len(parts); i += 2 {
		switch {
		case strings.EqualFold(parts[i], "resourceGroups"):
			found.group = parts[i+1]
		case strings.EqualFold(parts[i], kind):
			found.name = parts[i+1]
		}
	}
	if found.group == "" || found.name == "" {
		return resourceID{}, fmt.Errorf("%q is not the resource id of one of the %s: want /subscriptions/.../resourceGroups/.../providers/.../%s/NAME", id, kind, kind)
	}
	return found, nil
}
