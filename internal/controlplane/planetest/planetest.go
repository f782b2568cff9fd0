// Package planetest has what tests of a control plane share.
package planetest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const group = "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001/resourceGroups/"

// Plane is a hosted control plane on Azure whose user configured nothing, in namespace clusters-demo.
func Plane() *hyperv1.HostedControlPlane {
	route := func(service hyperv1.ServiceType) hyperv1.ServicePublishingStrategyMapping {
		return hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}}
	}
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters-demo"},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage: "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64", InfraID: "demo-x1", IssuerURL: "https://acct.blob.core.windows.net/demo",
			ControllerAvailabilityPolicy: hyperv1.SingleReplica, DNS: hyperv1.DNSSpec{BaseDomain: "hypershift.test"},
			Networking: hyperv1.ClusterNetworking{
				NetworkType:    hyperv1.OtherNetwork,
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14", HostPrefix: 23}},
				ServiceNetwork: []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{
				Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}},
			Services: []hyperv1.ServicePublishingStrategyMapping{
				{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}},
				route(hyperv1.OAuthServer), route(hyperv1.Konnectivity), route(hyperv1.Ignition)},
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{
				Cloud: "AzurePublicCloud", Location: "eastus", ResourceGroupName: "demo", TenantID: "tenant", SubscriptionID: "subscription",
				VnetID:          group + "net/providers/Microsoft.Network/virtualNetworks/vnet",
				SubnetID:        group + "net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/default",
				SecurityGroupID: group + "nsgs/providers/Microsoft.Network/networkSecurityGroups/nsg",
				AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{
					AzureAuthenticationConfigType: hyperv1.AzureWorkloadIdentities, WorkloadIdentities: WorkloadIdentities()},
			}},
		},
	}
}

// WorkloadIdentities are one identity for everything.
func WorkloadIdentities() *hyperv1.AzureWorkloadIdentitySet {
	id := hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}
	return &hyperv1.AzureWorkloadIdentitySet{ImageRegistry: id, Ingress: id, File: id, Disk: id, NodePoolManagement: id, CloudProvider: id, Network: id}
}

// View is what a component makes its objects from.
func View(hcp *hyperv1.HostedControlPlane) *component.Context {
	return &component.Context{Context: context.Background(), Client: fake.NewClientBuilder().Build(), HCP: hcp, Payload: release.KindKubernetes, Version: "4.21.0", Images: Images(), Inputs: &component.Inputs{}}
}

// Images of a payload, by their keys.
func Images() map[string]string {
	all := map[string]string{}
	for _, key := range []string{"etcd", "hyperkube", "apiserver-network-proxy", "azure-cloud-controller-manager", "flannel", "haproxy-router"} {
		all[key] = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + key
	}
	return all
}
