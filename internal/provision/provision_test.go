package provision

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	sub = "11111111-1111-1111-1111-111111111111"
	id  = "22222222-2222-2222-2222-222222222222"
)

func session(t *testing.T) *azure.Session {
	t.Helper()
	s, err := azure.NewSession(azure.Credentials{SubscriptionID: sub, TenantID: id, ClientID: id, ClientSecret: "x"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func identities() *WorkloadIdentities {
	w := &WorkloadIdentities{}
	for _, c := range components {
		if c.key != "kms" {
			w.set(c.key, id)
		}
	}
	return w
}

func TestIAMMakesEveryIdentityAndCredential(t *testing.T) {
	o := IAMOptions{Name: "demo", InfraID: "demo-x", ResourceGroup: "g", IssuerURL: "https://i"}
	for _, tc := range []struct {
		kms                     bool
		identities, credentials int
	}{{false, 8, 13}, {true, 9, 14}} {
		o.EnableKMS = tc.kms
		nodes := iamNodes(session(t), o, &WorkloadIdentities{})
		count := map[string]int{}
		for _, n := range nodes {
			count[n.Kind]++
		}
		if count["managed identity"] != tc.identities || count["federated credential"] != tc.credentials {
			t.Errorf("kms %v: %v", tc.kms, count)
		}
		if err := stack.Validate(nodes); err != nil {
			t.Error(err)
		}
	}
}

// What a failed operation has left is written again.
func TestUnfinishedIsDrifted(t *testing.T) {
	for state, want := range map[string]bool{"Failed": true, "Canceled": true, "Succeeded": false, "Updating": false, "": false} {
		if got := unfinished(&azure.Resource{Properties: map[string]any{"provisioningState": state}}); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
}

func TestIdentitiesFile(t *testing.T) {
	raw, err := json.MarshalIndent(identities(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(raw), "{\n  \"imageRegistry\": {\n    \"clientID\": \""+id) || strings.HasSuffix(string(raw), "\n") {
		t.Errorf("not the documented form:\n%s", raw)
	}
	if _, err := ParseWorkloadIdentities(raw); err != nil {
		t.Error(err)
	}
	if _, err := ParseWorkloadIdentities([]byte(strings.Replace(string(raw), id, "x", 1))); err == nil || !strings.Contains(err.Error(), "imageRegistry.clientID") {
		t.Errorf("the error does not name the member: %v", err)
	}
}

func FuzzWorkloadIdentities(f *testing.F) {
	f.Add([]byte(`{"disk":{"clientID":"` + id + `"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := ParseWorkloadIdentities(raw)
		if err != nil {
			return
		}
		for _, key := range required {
			if !azure.IsUUID(w.Get(key)) {
				t.Fatalf("accepted without %s", key)
			}
		}
	})
}

func TestInfraNamesAndGroups(t *testing.T) {
	o := InfraOptions{Name: "demo", InfraID: "demo-x", BaseDomain: "example.com", Location: "eastus", Identities: identities(),
		AssignRoles: true, DNSZoneGroup: "dns"}
	i := newInfra(session(t), o)
	base := "/subscriptions/" + sub + "/resourceGroups/"
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
	i := newInfra(session(t), InfraOptions{Name: "demo", InfraID: "demo-x", ResourceGroup: "one", Identities: identities(), AssignRoles: true, DNSZoneGroup: "one"})
	if err := stack.Validate(i.nodes()); err != nil {
		t.Error(err)
	}
	for _, n := range i.nodes() {
		if n.Kind == "resource group" && (!n.Brought || n.Delete != nil) {
			t.Errorf("the user's group %s could be written or deleted", n.Name)
		}
	}
}

func TestInfraOptionsNameTheFlag(t *testing.T) {
	vnet := "/subscriptions/" + sub + "/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"
	good := InfraOptions{Name: "n", InfraID: "i", BaseDomain: "b.test", Location: "l"}
	for flag, change := range map[string]func(*InfraOptions){
		"--base-domain":              func(o *InfraOptions) { o.BaseDomain = "" },
		"--vnet-id":                  func(o *InfraOptions) { o.VNetID = "nonsense" },
		"--subnet-id":                func(o *InfraOptions) { o.VNetID = vnet },
		"--subnet-id is not":         func(o *InfraOptions) { o.VNetID, o.SubnetID = vnet, vnet+"x/subnets/s" },
		"--workload-identities-file": func(o *InfraOptions) { o.AssignRoles = true },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s is not named: %v", flag, err)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestInfraOutputRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "infra.yaml")
	want := &InfraOutput{BaseDomain: "b", InfraID: "i", WorkloadIdentities: identities()}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	got, err := ReadInfraOutput(path)
	if err != nil || got.InfraID != "i" || got.WorkloadIdentities.Disk.ClientID != id {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOneRotationPerFolder(t *testing.T) {
	dir := t.TempDir()
	release, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := RotateOptions{Issuer: IssuerOptions{Name: "demo", ResourceGroup: "os4-common", KeyDirectory: dir}, TokenLifetime: time.Hour}
	if _, err := RotateIssuer(t.Context(), session(t), o); err == nil || !strings.Contains(err.Error(), "another command is changing the keys") {
		t.Errorf("a second rotation: %v", err)
	}
	release()
	if release, err = lockFolder(dir); err != nil {
		t.Fatal(err)
	}
	release()
}

func TestOwnsHitsWholeWordsOnly(t *testing.T) {
	d := &demolition{DestroyOptions: DestroyOptions{Name: "demo", InfraID: "demo-x"}}
	for name, want := range map[string]bool{
		"demo-x": true, "demo-demo-x": true, "demo-x-os": true, "demo-x_OSDisk": true, "demo.example.com": true,
		"demo-xy": false, "other": false, "mydemo-x": false,
	} {
		r := azure.Resource{Name: name, Type: "Microsoft.Compute/disks"}
		if strings.Contains(name, ".") {
			r.Type = typePrivateDNS
		}
		if got := d.owns(&r, false); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if d.owns(&r, true) {
			t.Errorf("%s: taken without our tag", name)
		}
	}
	for _, kind := range []string{typeLB, typePublicIP} {
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
