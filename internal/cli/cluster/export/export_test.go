package export_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/inventory"
)

const (
	subscription = "11111111-1111-4111-8111-111111111111"
	clientID     = "22222222-2222-4222-8222-222222222222"
	group        = "/subscriptions/" + subscription + "/resourceGroups/"
)

var key = client.ObjectKey{Namespace: "clusters", Name: "demo"}

// running is a cluster where our own stack places one, with a pool of its name.
func running(change func(*hyperv1.HostedCluster, *hyperv1.NodePool)) []client.Object {
	id := hyperv1.WorkloadIdentity{ClientID: clientID}
	hc := &hyperv1.HostedCluster{TypeMeta: metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster"}, ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	s := &hc.Spec
	s.InfraID, s.Release.Image, s.DNS.BaseDomain, s.PullSecret.Name, s.IssuerURL = "demo-x", "quay.io/release:1", "example.com", "demo-pull-secret", "https://i.example.com/demo"
	s.DNS.PrivateZoneID = group + "demo-demo-x/providers/Microsoft.Network/privateDnsZones/demo.example.com"
	vnet := group + "demo-vnet-demo-x/providers/Microsoft.Network/virtualNetworks/demo-demo-x"
	s.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{Location: "westeurope", ResourceGroupName: "demo-demo-x", SubscriptionID: subscription, TenantID: clientID,
		VnetID: vnet, SubnetID: vnet + "/subnets/default", SecurityGroupID: group + "demo-nsg-demo-x/providers/Microsoft.Network/networkSecurityGroups/demo-demo-x-nsg"}}
	s.Platform.Azure.AzureAuthenticationConfig = hyperv1.AzureAuthenticationConfiguration{AzureAuthenticationConfigType: hyperv1.AzureWorkloadIdentities,
		WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{ImageRegistry: id, Ingress: id, File: id, Disk: id, NodePoolManagement: id, CloudProvider: id, Network: id}}
	np := &hyperv1.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "NodePool"}, ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	np.Spec = hyperv1.NodePoolSpec{ClusterName: key.Name, Replicas: new(int32(3)), Arch: "amd64", Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform,
		Azure: &hyperv1.AzureNodePoolPlatform{VMSize: "Standard_D8s_v5", SubnetID: vnet + "/subnets/default"}}}
	np.Spec.Release.Image = s.Release.Image
	if change != nil {
		change(hc, np)
	}
	return []client.Object{hc, np}
}

func members(t *testing.T, objects []client.Object) string {
	t.Helper()
	found, err := export.Of(t.Context(), clitest.Client(objects...), key, cluster.ForExport())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(found.File)) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

// What our stack has made is made again and not named, what the user has brought is named; pools are those of this cluster alone.
func TestWhatIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*hyperv1.HostedCluster, *hyperv1.NodePool)
		says   []string
		not    []string
	}{
		{"our own", nil, []string{"name: demo", "infra-id: demo-x", "location: westeurope", "node-pool-replicas: 3", "instance-type: Standard_D8s_v5"},
			[]string{"vnet-id", "subnet-id", "network-security-group-id", "resource-group-name", "private-dns-zone-id", "apps-zone"}},
		{"a network of the user's", func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
			p := hc.Spec.Platform.Azure
			p.VnetID = group + "theirs/providers/Microsoft.Network/virtualNetworks/v"
			p.SubnetID, p.SecurityGroupID = p.VnetID+"/subnets/s", group+"theirs/providers/Microsoft.Network/networkSecurityGroups/n"
		}, []string{"vnet-id: " + group + "theirs", "subnet-id: " + group + "theirs", "network-security-group-id: " + group + "theirs", "nodepool-subnet-id: "}, []string{"resource-group-name"}},
		{"a group of the user's", func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
			hc.Spec.Platform.Azure.ResourceGroupName = "theirs"
		}, []string{"resource-group-name: theirs"}, nil},
		{"the zone of the base domain", func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
			hc.Spec.DNS.PublicZoneID = group + "dns/providers/Microsoft.Network/dnsZones/example.com"
		}, []string{"apps-zone: shared", "dns-zone-rg-name: dns"}, nil},
		{"a zone of its own", func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
			hc.Spec.DNS.PublicZoneID = group + "demo-demo-x/providers/Microsoft.Network/dnsZones/apps.demo.example.com"
		}, []string{"apps-zone: own"}, []string{"dns-zone-rg-name"}},
		{"no prefix of the domain", func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) { hc.Spec.DNS.BaseDomainPrefix = new("") }, []string{"base-domain-prefix: none"}, nil},
		{"a pool in a zone", func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			np.Name, np.Spec.Platform.Azure.AvailabilityZone = "demo-2", "2"
		}, []string{"availability-zones:\n- \"2\""}, []string{"availability-zone:"}},
		{"a pool whose name only looks like a zone", func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Name = "demo-2" }, []string{"node-pool-replicas: -1"}, []string{"availability-zones"}},
		{"another cluster's pool", func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) { np.Spec.ClusterName = "other" }, []string{"node-pool-replicas: -1"}, []string{"Standard_D8s_v5"}},
		{"a pool that scales itself", func(_ *hyperv1.HostedCluster, np *hyperv1.NodePool) {
			np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 4, Max: 9}
		}, []string{"node-pool-replicas: 4"}, nil},
	} {
		got := members(t, running(tc.change))
		for _, part := range tc.says {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not there:\n%s", tc.name, part, got)
			}
		}
		for _, part := range tc.not {
			if strings.Contains(got, "\n"+part) {
				t.Errorf("%s: %q is there:\n%s", tc.name, part, got)
			}
		}
	}
}

// An export reads no Secret but the record of what was made, needs not even that, and tells nothing of any.
func TestNoSecretIsExported(t *testing.T) {
	objects := running(nil)
	for _, name := range []string{"demo-pull-secret", "demo-etcd-encryption-key"} {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}, Data: map[string][]byte{"key": []byte("PRECIOUS")}})
	}
	var read []string
	c := interceptor.NewClient(clitest.Client(objects...).(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*corev1.Secret); ok {
				read = append(read, k.Name)
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, k.Name, nil)
			}
			return c.Get(ctx, k, obj, opts...)
		}})
	found, err := export.Of(t.Context(), c, key, cluster.ForExport())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read, []string{inventory.Name("demo")}) || strings.Contains(string(found.File), "PRECIOUS") || !strings.Contains(string(found.File), "Secret demo-pull-secret") {
		t.Errorf("read %q:\n%s", read, found.File)
	}
}

// What the file does not say is told, in the file and beside it; where it says all there is no warning.
func TestWhatIsUnsaidIsTold(t *testing.T) {
	objects := running(func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
		hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "audit"}
	})
	more := objects[1].DeepCopyObject().(*hyperv1.NodePool)
	more.Name = "gpu"
	found, err := export.Of(t.Context(), clitest.Client(append(objects, more)...), key, cluster.ForExport())
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	found.Warn(&told)
	for _, part := range []string{"HostedCluster demo: spec.auditWebhook", "NodePool gpu: all of it"} {
		if !strings.Contains(told.String(), part) || !strings.Contains(string(found.File), "#   ") || !strings.Contains(string(found.File), part) {
			t.Errorf("%q is not told: %s", part, told.String())
		}
	}
	told.Reset()
	(&export.Exported{}).Warn(&told)
	if told.Len() != 0 {
		t.Errorf("warned of nothing: %q", told.String())
	}
}

// A cluster that cannot be read, or is of another platform, gives no file: one that lacks pools would delete them where it is applied.
func TestAnExportThatCannotBe(t *testing.T) {
	good := clitest.Client(running(nil)...).(client.WithWatch)
	for name, tc := range map[string]struct {
		c    client.Client
		says string
	}{
		"pools that cannot be listed": {interceptor.NewClient(good, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewServiceUnavailable("down")
		}}), "node pools"},
		"a cluster that cannot be read": {interceptor.NewClient(good, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "hostedclusters"}, "demo", nil)
		}}), "cannot read HostedCluster clusters/demo"},
		"another platform": {clitest.Client(running(func(hc *hyperv1.HostedCluster, _ *hyperv1.NodePool) {
			hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
		})...), "platform None"},
		"none of this name": {clitest.Client(), "demo"},
	} {
		if found, err := export.Of(t.Context(), tc.c, key, cluster.ForExport()); err == nil || found != nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
