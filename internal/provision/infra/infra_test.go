package infra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func identities() *identity.WorkloadIdentities {
	w := &identity.WorkloadIdentities{}
	for _, c := range identity.Components {
		if c.Key != "kms" {
			w.Set(c.Key, provisiontest.Client)
		}
	}
	return w
}

func TestInfraNamesAndGroups(t *testing.T) {
	o := Options{Name: "demo", InfraID: "demo-x", BaseDomain: "example.com", Location: "eastus", Identities: identities(),
		AssignRoles: true, DNSZoneGroup: "dns"}
	i := newLayout(provisiontest.Session(t), o)
	base := "/subscriptions/" + provisiontest.Subscription + "/resourceGroups/"
	for got, want := range map[string]string{
		i.out.ResourceGroupName: "demo-demo-x",
		i.out.VNetID:            base + "demo-vnet-demo-x/providers/Microsoft.Network/virtualNetworks/demo-demo-x",
		i.out.SubnetID:          base + "demo-vnet-demo-x/providers/Microsoft.Network/virtualNetworks/demo-demo-x/subnets/default",
		i.out.SecurityGroupID:   base + "demo-nsg-demo-x/providers/Microsoft.Network/networkSecurityGroups/demo-demo-x-nsg",
		i.out.PrivateZoneID:     base + "demo-demo-x/providers/Microsoft.Network/privateDnsZones/demo.example.com",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	nodes := i.nodes()
	if err := stack.Validate(nodes); err != nil {
		t.Error(err)
	}
	roles := 0
	for _, n := range nodes {
		if n.Kind == "role assignment" {
			roles++
		}
	}
	if roles != 17 {
		t.Errorf("%d role assignments, want 17", roles)
	}
}

func TestOneGroupForEverythingAssignsEachRoleOnce(t *testing.T) {
	i := newLayout(provisiontest.Session(t), Options{Name: "demo", InfraID: "demo-x", ResourceGroup: "one", Identities: identities(), AssignRoles: true, DNSZoneGroup: "one"})
	if err := stack.Validate(i.nodes()); err != nil {
		t.Error(err)
	}
	for _, n := range i.nodes() {
		if n.Kind == "resource group" && (!n.Brought || n.Delete != nil) {
			t.Errorf("the user's group %s could be written or deleted", n.Name)
		}
	}
}

func TestOptionsNameTheField(t *testing.T) {
	vnet := "/subscriptions/" + provisiontest.Subscription + "/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"
	good := Options{Name: "n", InfraID: "i", BaseDomain: "b.test", Location: "l"}
	for name, change := range map[string]func(*Options){
		FieldBaseDomain.String():           func(o *Options) { o.BaseDomain = "" },
		FieldVNetID.String():               func(o *Options) { o.VNetID = "nonsense" },
		FieldSubnetID.String():             func(o *Options) { o.VNetID = vnet },
		FieldSubnetID.String() + " is not": func(o *Options) { o.VNetID, o.SubnetID = vnet, vnet+"x/subnets/s" },
		FieldIdentities.String():           func(o *Options) { o.AssignRoles = true },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestInfraOutputRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "infra.yaml")
	want := &Output{BaseDomain: "b", InfraID: "i", WorkloadIdentities: identities()}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	got, err := ReadOutput(path)
	if err != nil || got.InfraID != "i" || got.WorkloadIdentities.Disk.ClientID != provisiontest.Client {
		t.Errorf("%+v, %v", got, err)
	}
}

// Somebody may have called an infrastructure prod, to have web-prod-1 deleted by whoever destroys his cluster: only a tag makes a resource
// ours, or exactly a name that is generated.
func TestANameThatHoldsTheInfraIDIsNoProof(t *testing.T) {
	const uid = "0123456789abcdef0123456789abcde"
	network := "Microsoft.Network/"
	for _, tc := range []struct {
		typed, name      string
		always, adopting bool
	}{
		{"Microsoft.Compute/virtualMachines", "web-prod-1", false, false},
		{"Microsoft.Compute/disks", "web-prod-1", false, false},
		{"Microsoft.Compute/disks", "prod", false, false},
		{"Microsoft.Compute/disks", "prod_data", false, false},
		{"Microsoft.Storage/storageAccounts", "prod", false, false},
		{network + "networkInterfaces", "prod-nic", false, false},
		{node.TypeLB, "prod-east", false, false},
		{node.TypeLB, "prod-internal", true, true},
		{node.TypeLB, "prod", false, true},
		{node.TypePublicIP, "prod-a" + uid, true, true},
		{node.TypePublicIP, "prod-a" + uid + "-IPv6", true, true},
		{node.TypePublicIP, "prod-a" + uid + "-api", false, false},
		{node.TypePublicIP, "web-prod-a" + uid, false, false},
		{node.TypePublicIP, "prod-api", false, false},
		{node.TypePublicIP, "prod", false, true},
		{node.TypeVNet, "prod", false, false},
		{node.TypeVNet, "hub-prod", false, false},
		{node.TypeVNet, "demo-prod", false, true},
		{node.TypeNSG, "web-prod-nsg", false, false},
		{node.TypeNSG, "demo-prod-nsg", false, true},
		{node.TypePrivateDNS, "demo.example.com", false, true},
		{node.TypePrivateDNS, "prod.example.com", false, false},
	} {
		r := azure.Resource{Name: tc.name, Type: tc.typed, ID: "/" + tc.name}
		for adopt, want := range map[bool]bool{false: tc.always, true: tc.adopting} {
			d := &demolition{DestroyOptions: DestroyOptions{Name: "demo", InfraID: "prod", Adopt: adopt}}
			if got := d.owns(&r); got != want {
				t.Errorf("%s %s, adopting %v: %v", tc.typed, tc.name, adopt, got)
			}
			// A record that a tenant can write changes nothing; the user's own word does.
			d.Inventory = []string{r.ID}
			if got := d.owns(&r); got != want {
				t.Errorf("%s %s, adopting %v, on a record: %v", tc.typed, tc.name, adopt, got)
			}
			d.recorded = map[string]bool{r.ID: true}
			if !d.owns(&r) {
				t.Errorf("%s %s is left though the user vouches for it", tc.typed, tc.name)
			}
			d.recorded, r.Tags = nil, map[string]string{ownerTag("prod"): "owned"}
			if !d.owns(&r) {
				t.Errorf("%s %s is left though it has our tag", tc.typed, tc.name)
			}
			r.Tags = nil
		}
	}
	address := azure.Resource{Name: "any", Type: node.TypePublicIP, Tags: map[string]string{"k8s-azure-cluster-name": "prod"}}
	if d := (&demolition{DestroyOptions: DestroyOptions{Name: "demo", InfraID: "prod"}}); !d.owns(&address) {
		t.Error("an address with the tag of the cloud provider is left")
	}
}

// A machine of ours is known by its tag; its disk has none.
func TestTheDiskOfOurMachineIsOurs(t *testing.T) {
	d := &demolition{DestroyOptions: DestroyOptions{Name: "demo", InfraID: "demo-x"}}
	vm := func(name string, tags map[string]string) azure.Resource {
		return azure.Resource{Name: name, Type: "Microsoft.Compute/virtualMachines", Tags: tags}
	}
	disk := func(name string) azure.Resource { return azure.Resource{Name: name, Type: "Microsoft.Compute/disks"} }
	all := []azure.Resource{vm("pool-1", map[string]string{"sigs.k8s.io_cluster-api-provider-azure_cluster_demo-x": "owned"}), vm("web-demo-x", nil),
		disk("pool-1_OSDisk"), disk("pool-1_data"), disk("web-demo-x_OSDisk")}
	d.noteDisks(all)
	for i, want := range []bool{true, false, true, false, false} {
		if d.owns(&all[i]) != want {
			t.Errorf("%s: %v", all[i].Name, !want)
		}
	}
}
