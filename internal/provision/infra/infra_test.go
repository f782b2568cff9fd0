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
	if roles != 18 {
		t.Errorf("%d role assignments, want 18", roles)
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

func TestOwnsHitsWholeWordsOnly(t *testing.T) {
	d := &demolition{DestroyOptions: DestroyOptions{Name: "demo", InfraID: "demo-x"}}
	for name, want := range map[string]bool{
		"demo-x": true, "demo-demo-x": true, "demo-x-os": true, "demo-x_OSDisk": true, "demo.example.com": true,
		"demo-xy": false, "other": false, "mydemo-x": false,
	} {
		r := azure.Resource{Name: name, Type: "Microsoft.Compute/disks"}
		if strings.Contains(name, ".") {
			r.Type = node.TypePrivateDNS
		}
		if got := d.owns(&r, false); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if d.owns(&r, true) {
			t.Errorf("%s: taken without our tag", name)
		}
	}
	for _, kind := range []string{node.TypeLB, node.TypePublicIP} {
		if d.owns(&azure.Resource{Name: "demo-x", Type: kind}, false) {
			t.Errorf("%s with the name of ours and without our tag is taken: it may be the user's", kind)
		}
		if !d.owns(&azure.Resource{Name: "demo-x-a1b2", Type: kind}, false) {
			t.Errorf("%s of a Service of the cluster is left", kind)
		}
	}
	tagged := azure.Resource{Name: "vm", Tags: map[string]string{ownerTag("demo-x"): "owned"}}
	if !d.owns(&tagged, true) {
		t.Error("our tag is not recognised")
	}
}
