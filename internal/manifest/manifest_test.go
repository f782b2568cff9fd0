package manifest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func demo() *Cluster {
	id := hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}
	none := time.Duration(0)
	return &Cluster{
		Name: "demo", Namespace: "clusters", ReleaseImage: "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64",
		Infra: Infra{
			InfraID: "demo-x7k2p", Location: "eastus", ResourceGroup: "demo-demo-x7k2p", VNetID: "VNET", SubnetID: "SUBNET",
			SecurityGroupID: "NSG", BaseDomain: "hypershift.test", PublicZoneID: "PUBLIC", PrivateZoneID: "PRIVATE",
		},
		Identity: Identity{
			SubscriptionID: "SUB", TenantID: "TENANT", IssuerURL: "https://a.blob.core.windows.net/demo",
			WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{
				ImageRegistry: id, Ingress: id, File: id, Disk: id, NodePoolManagement: id, CloudProvider: id, Network: id,
			},
		},
		Secrets: Secrets{
			PullSecret: []byte("{}"), SSHPublicKey: []byte("ssh-rsa A\n"), SSHPrivateKey: []byte("P"), SigningKey: []byte("K"),
			EtcdEncryptionKey: []byte(strings.Repeat("e", 32)),
		},
		Publishing: Publishing{EndpointAccess: hyperv1.AzureTopologyPublic},
		Networking: Networking{
			Type: hyperv1.OVNKubernetes, ClusterCIDRs: []string{"10.132.0.0/14"}, ServiceCIDRs: []string{"172.31.0.0/16"},
		},
		ControlPlaneAvailability: hyperv1.SingleReplica,
		EtcdStorageSize:          resource.MustParse("8Gi"),
		OLMCatalogPlacement:      hyperv1.ManagementOLMCatalogPlacement,
		NodePools: NodePool{
			Replicas: 2, Arch: "amd64", DiskSizeGiB: 120, DiskStorageType: "Premium_LRS", DiagnosticsType: "Managed",
			DrainTimeout: &none, VolumeDetachTimeout: &none,
		},
	}
}

func TestRenderGolden(t *testing.T) {
	for _, tc := range []struct {
		name      string
		sensitive bool
		change    func(*Cluster)
	}{
		{"public", true, func(*Cluster) {}},
		{"external-dns-zones", false, func(c *Cluster) {
			c.Publishing.ExternalDNSDomain = "ext.example.com"
			c.Zones = []string{"1", "3"}
			c.BaseDomainPrefix = new("")
			c.NodePools.Image = Image{Publisher: "p-1", Offer: "o", SKU: "s", Version: "1.2.3"}
		}},
		{"kms-private", false, func(c *Cluster) {
			c.KMS = &KMS{VaultName: "v", KeyName: "k", KeyVersion: "1", VaultType: "KeyVault", ClientID: "ID"}
			c.Publishing.EndpointAccess = hyperv1.AzureTopologyPrivate
			c.Publishing.NATSubnetID = "NAT"
			c.Infra.BootImageID = "IMAGE"
			c.Secrets.TrustBundle = []byte("PEM")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := demo()
			tc.change(c)
			var got bytes.Buffer
			if err := Render(&got, c.Objects(), tc.sensitive); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", tc.name+".yaml")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("differs from %s; run with -update and look at the difference:\n%s", golden, got.String())
			}
		})
	}
}

func TestServices(t *testing.T) {
	const public, both, private = hyperv1.AzureTopologyPublic, hyperv1.AzureTopologyPublicAndPrivate, hyperv1.AzureTopologyPrivate
	for _, tc := range []struct {
		domain string
		access hyperv1.AzureTopology
		want   string // API server, ignition, konnectivity, OAuth
	}{
		{"", public, "LoadBalancer Route Route Route"},
		{"", both, "LoadBalancer Route Route Route"},
		{"", private, "Route Route Route Route"},
		{"d.io", public, "Route:api-demo.d.io Route:ignition-demo.d.io Route:konnectivity-demo.d.io Route:oauth-demo.d.io"},
		{"d.io", both, "Route:api-demo.d.io Route Route Route:oauth-demo.d.io"},
		{"d.io", private, "Route:api-demo.d.io Route Route Route:oauth-demo.d.io"},
	} {
		c := demo()
		c.Publishing.ExternalDNSDomain, c.Publishing.EndpointAccess = tc.domain, tc.access
		var got []string
		for _, s := range c.services() {
			text := string(s.ServicePublishingStrategy.Type)
			if r := s.ServicePublishingStrategy.Route; r != nil {
				text += ":" + string(r.Hostname)
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("domain %q, access %s: %v, want %s", tc.domain, tc.access, got, tc.want)
		}
	}
}

func TestNoNodePoolsBelowZeroReplicas(t *testing.T) {
	c := demo()
	c.NodePools.Replicas = -1
	for _, obj := range c.Objects() {
		if _, ok := obj.(*hyperv1.NodePool); ok {
			t.Errorf("NodePool %s", obj.GetName())
		}
	}
}
