// Package hostedclustertest has a hosted cluster for tests.
package hostedclustertest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// Cluster is a HostedCluster of platform Azure in namespace clusters, with the release of an image.
func Cluster(name, image string) *hyperv1.HostedCluster {
	const network = "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft.Network/"
	identity := hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}
	publish := func(service hyperv1.ServiceType, how hyperv1.PublishingStrategyType) hyperv1.ServicePublishingStrategyMapping {
		return hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: how}}
	}
	hc := &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters"},
		Spec: hyperv1.HostedClusterSpec{
			Release:                      hyperv1.Release{Image: image},
			PullSecret:                   corev1.LocalObjectReference{Name: name + "-pull-secret"},
			IssuerURL:                    "https://account.blob.core.windows.net/demo",
			ServiceAccountSigningKey:     &corev1.LocalObjectReference{Name: name + "sa-token-issuer-key"},
			ControllerAvailabilityPolicy: hyperv1.SingleReplica,
			DNS:                          hyperv1.DNSSpec{BaseDomain: "hypershift.test"},
			Networking: hyperv1.ClusterNetworking{
				NetworkType:    hyperv1.OtherNetwork,
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{
				Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}},
			Services: []hyperv1.ServicePublishingStrategyMapping{
				publish(hyperv1.APIServer, hyperv1.LoadBalancer), publish(hyperv1.Ignition, hyperv1.Route),
				publish(hyperv1.Konnectivity, hyperv1.Route), publish(hyperv1.OAuthServer, hyperv1.Route),
			},
			Platform: hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{
				Location: "eastus", ResourceGroupName: name, TenantID: "7e0a1d00-0000-4000-8000-000000000001",
				SubscriptionID:  "5a2d0b0e-0000-4000-8000-000000000001",
				VnetID:          network + "virtualNetworks/vnet",
				SubnetID:        network + "virtualNetworks/vnet/subnets/default",
				SecurityGroupID: network + "networkSecurityGroups/nsg",
				AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{
					AzureAuthenticationConfigType: "WorkloadIdentities",
					WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{
						ImageRegistry: identity, Ingress: identity, File: identity, Disk: identity,
						NodePoolManagement: identity, CloudProvider: identity, Network: identity,
					},
				},
			}},
		},
	}
	return hc
}

// At is a hosted cluster without a client: what it does must need none. Its clock stands at the beginning of 2026.
func At(hc *hyperv1.HostedCluster) *cluster.Cluster {
	return cluster.New(hc, cluster.Environment{Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
}
