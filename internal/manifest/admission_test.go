package manifest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const (
	subscription = "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001"
	network      = subscription + "/resourceGroups/v/providers/Microsoft.Network/virtualNetworks/vnet"
)

// admissible is demo with ids that the API accepts.
func admissible() *Cluster {
	c := demo()
	c.Infra.VNetID, c.Infra.SubnetID = network, network+"/subnets/default"
	return c
}

// TestAdmission checks against a real API server that what the command line makes is accepted, and that what the schema must
// refuse is refused with the words that clients look for.
func TestAdmission(t *testing.T) {
	restConfig := kubetest.Start(t)
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, obj := range admissible().Objects() {
		if err := kube.Apply(ctx, c, "test", obj); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("defaults", func(t *testing.T) { checkDefaults(ctx, t, c) })
	t.Run("create", func(t *testing.T) { refuseCreation(ctx, t, c) })
	t.Run("update", func(t *testing.T) { refuseUpdates(ctx, t, c) })
	t.Run("scale", func(t *testing.T) {
		np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`))
		if err := c.SubResource("scale").Patch(ctx, np, patch); err != nil {
			t.Error(err)
		}
	})
}

func checkDefaults(ctx context.Context, t *testing.T, c client.Client) {
	np := &hyperv1.NodePool{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "demo"}, np); err != nil {
		t.Fatal(err)
	}
	if m := np.Spec.Platform.Azure.Image.AzureMarketplace; m == nil || m.ImageGeneration != "Gen2" {
		t.Errorf("image %+v, want generation Gen2", np.Spec.Platform.Azure.Image)
	}
	if r := np.Spec.Management.Replace; r == nil || r.RollingUpdate == nil || r.RollingUpdate.MaxSurge.IntValue() != 1 {
		t.Errorf("management %+v, want a rolling update", np.Spec.Management)
	}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
		t.Fatal(err)
	}
	if hc.Spec.Platform.Azure.Cloud != "AzurePublicCloud" || hc.Spec.InfrastructureAvailabilityPolicy != hyperv1.SingleReplica {
		t.Errorf("cloud %q, infrastructure policy %q", hc.Spec.Platform.Azure.Cloud, hc.Spec.InfrastructureAvailabilityPolicy)
	}
}

func refuseCreation(ctx context.Context, t *testing.T, c client.Client) {
	for _, tc := range []struct {
		cue    string
		change func(*hyperv1.HostedCluster)
	}{
		{"should have at least 4 items", func(hc *hyperv1.HostedCluster) { hc.Spec.Services = hc.Spec.Services[:3] }},
		{"requires Konnectivity to use Route", func(hc *hyperv1.HostedCluster) { hc.Spec.Services[2].ServicePublishingStrategy = loadBalancer("") }},
		{"requires Ignition to use Route", func(hc *hyperv1.HostedCluster) { hc.Spec.Services[1].ServicePublishingStrategy = loadBalancer("") }},
		{"only route is allowed when type is Route", func(hc *hyperv1.HostedCluster) {
			hc.Spec.Services[1].ServicePublishingStrategy.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{}
		}},
		{"must be a valid domain name", func(hc *hyperv1.HostedCluster) { hc.Spec.Services[3].ServicePublishingStrategy = route("nodots") }},
		{"must be a valid absolute URL", func(hc *hyperv1.HostedCluster) { hc.Spec.IssuerURL = " " }},
		{"must be unique and non-overlapping", func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "10.132.0.0/14" }},
		{"must be a valid IPv4 or IPv6 CIDR", func(hc *hyperv1.HostedCluster) { hc.Spec.Networking.ServiceNetwork[0].CIDR = "10.0.0.0" }},
		{"clusterID must be an RFC4122 UUID value", func(hc *hyperv1.HostedCluster) { hc.Spec.ClusterID = strings.Repeat("x", 36) }},
		{"must start with a word character", func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = " x" }},
		{"workloadIdentities is required when", func(hc *hyperv1.HostedCluster) { auth(hc).WorkloadIdentities = nil }},
		{"must be a valid UUID", func(hc *hyperv1.HostedCluster) {
			auth(hc).WorkloadIdentities.Disk.ClientID = hyperv1.AzureClientID(strings.Repeat("x", 36))
		}},
		{"private is required when topology", func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.Azure.Topology = "Private" }},
		{"Only managed configuration must be set", func(hc *hyperv1.HostedCluster) { hc.Spec.Etcd.Managed = nil }},
		{"ovnKubernetesConfig is forbidden", func(hc *hyperv1.HostedCluster) {
			hc.Spec.Networking.NetworkType = hyperv1.OtherNetwork
			hc.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{ClusterNetworkOperator: &hyperv1.ClusterNetworkOperatorSpec{
				OVNKubernetesConfig: &hyperv1.OVNKubernetesConfig{MTU: 1400}}}
		}},
		{"must be a date in RFC3339 format", func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = new("tomorrow") }},
		{"at most 20 entries", func(hc *hyperv1.HostedCluster) {
			hc.Spec.Labels = map[string]string{}
			for i := range 21 {
				hc.Spec.Labels[strings.Repeat("a", i+1)] = ""
			}
		}},
		{"Console capability", func(hc *hyperv1.HostedCluster) {
			hc.Spec.Capabilities.Disabled = []hyperv1.OptionalCapability{"Ingress"}
		}},
		{"mutually exclusive", func(hc *hyperv1.HostedCluster) {
			hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: "Azure", Azure: &hyperv1.AzureKMSSpec{
				ActiveKey:        hyperv1.AzureKMSKey{KeyVaultName: "v", KeyName: "k", KeyVersion: "1"},
				KMS:              &hyperv1.ManagedIdentity{CredentialsSecretName: "s", ObjectEncoding: "utf-8"},
				WorkloadIdentity: &hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"},
			}}}
		}},
	} {
		t.Run(tc.cue, func(t *testing.T) {
			hc := admissible().HostedCluster()
			hc.Name = "other"
			tc.change(hc)
			expectRefusal(t, c.Create(ctx, hc, client.DryRunAll), tc.cue)
		})
	}
}

func auth(hc *hyperv1.HostedCluster) *hyperv1.AzureAuthenticationConfiguration {
	return &hc.Spec.Platform.Azure.AzureAuthenticationConfig
}

func refuseUpdates(ctx context.Context, t *testing.T, c client.Client) {
	for _, tc := range []struct {
		cue  string
		path []string
		to   any
	}{
		{"Services is immutable", []string{"services"}, make([]hyperv1.ServicePublishingStrategyMapping, 0)},
		{"infraID is immutable", []string{"infraID"}, "other"},
		{"infraID cannot be removed once set", []string{"infraID"}, nil},
		{"issuerURL is immutable", []string{"issuerURL"}, "https://other.example.com"},
		{"Type is immutable", []string{"platform", "type"}, "None"},
		{"Location is immutable", []string{"platform", "azure", "location"}, "westus"},
		{"topology cannot be", []string{"platform", "azure", "topology"}, nil},
		{"fips is immutable", []string{"fips"}, true},
		{"ControllerAvailabilityPolicy is immutable", []string{"controllerAvailabilityPolicy"}, "HighlyAvailable"},
		{"baseDomain is immutable", []string{"dns", "baseDomain"}, "other.example.com"},
		{"storage size is immutable", []string{"etcd", "managed", "storage", "persistentVolume", "size"}, "9Gi"},
		{"cannot be removed once configured", []string{"secretEncryption"}, nil},
		{"Capabilities is immutable", []string{"capabilities", "disabled"}, []string{"Insights"}},
	} {
		t.Run(tc.cue, func(t *testing.T) {
			hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
			expectRefusal(t, c.Patch(ctx, hc, mergePatch(t, tc.path, tc.to), client.DryRunAll), tc.cue)
		})
	}
	for _, tc := range []struct {
		cue  string
		path []string
		to   any
	}{
		{"ClusterName is immutable", []string{"clusterName"}, "other"},
		{"Arch is immutable", []string{"arch"}, "arm64"},
		{"Both replicas or autoScaling", []string{"autoScaling"}, map[string]int{"min": 1, "max": 2}},
		{"either be all set, or all omitted", []string{"platform", "azure", "image", "azureMarketplace", "publisher"}, "abc"},
		{"imageID is required when", []string{"platform", "azure", "image", "type"}, "ImageID"},
		{"SubnetID is immutable", []string{"platform", "azure", "subnetID"}, network + "/subnets/other"},
		{"can only be set when 'upgradeType' is 'InPlace'", []string{"management", "inPlace"}, map[string]int{"maxUnavailable": 1}},
	} {
		t.Run(tc.cue, func(t *testing.T) {
			np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
			expectRefusal(t, c.Patch(ctx, np, mergePatch(t, tc.path, tc.to), client.DryRunAll), tc.cue)
		})
	}
}

// mergePatch sets one member of spec.
func mergePatch(t *testing.T, path []string, to any) client.Patch {
	t.Helper()
	for i := len(path) - 1; i >= 0; i-- {
		to = map[string]any{path[i]: to}
	}
	raw, err := json.Marshal(map[string]any{"spec": to})
	if err != nil {
		t.Fatal(err)
	}
	return client.RawPatch(types.MergePatchType, raw)
}

func expectRefusal(t *testing.T, err error, cue string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), cue) {
		t.Errorf("error %v, want one that contains %q", err, cue)
	}
}
