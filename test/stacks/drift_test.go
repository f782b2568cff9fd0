package stacks_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// plainInfra is infrastructure without roles, as few calls as there can be.
var plainInfra = infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location}

// ownNetwork are the ids of what the stack makes.
func (w *world) ownNetwork() (nsg, vnet, balancer, address string) {
	const provider = "/providers/Microsoft.Network/"
	main := w.group("demo-demo-x") + provider
	return w.group("demo-nsg-demo-x") + provider + "networkSecurityGroups/demo-demo-x-nsg", w.group("demo-vnet-demo-x") + provider + "virtualNetworks/demo-demo-x",
		main + "loadBalancers/demo-x", main + "publicIPAddresses/demo-x"
}

// fails has somebody's write of a resource fail after Azure has accepted it: what is there stays, and counts as unfinished.
func (w *world) fails(s *azure.Session, id string) {
	w.t.Helper()
	found, err := s.Get(w.t.Context(), id, apiNetwork)
	must(w.t, err)
	_, err = w.server.Faults().Add(fault.Rule{Preset: "operation-failed", Method: "PUT", Path: id[strings.Index(id, "Microsoft.Network"):], Count: 1})
	must(w.t, err)
	if _, err = s.Put(w.t.Context(), id, apiNetwork, *found); err == nil || !strings.Contains(err.Error(), "failed") {
		w.t.Fatalf("the write of %s: %v", id, err)
	}
	if found, err = s.Get(w.t.Context(), id, apiNetwork); err != nil || found.Property("provisioningState") != "Failed" {
		w.t.Fatalf("%s is %v, %v", id, found.Property("provisioningState"), err)
	}
}

// others adds what the cloud provider and the user put into the network that the stack has made.
func (w *world) others(s *azure.Session) {
	w.t.Helper()
	nsg, vnet, balancer, _ := w.ownNetwork()
	_, err := s.Put(w.t.Context(), nsg+"/securityRules/k8s-azure-lb_allow_IPv4_0123", apiNetwork, azure.Resource{Properties: map[string]any{"priority": 500,
		"direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*", "destinationPortRange": "443", "sourceAddressPrefix": "Internet",
		"destinationAddressPrefix": "203.0.113.9"}})
	must(w.t, err)
	_, err = s.Put(w.t.Context(), vnet+"/subnets/endpoints", apiNetwork, azure.Resource{Properties: map[string]any{"addressPrefix": "10.0.8.0/24"}})
	must(w.t, err)
	found, err := s.Get(w.t.Context(), balancer, apiNetwork)
	must(w.t, err)
	probes, _ := found.Properties["probes"].([]any)
	found.Properties["probes"] = append(probes, map[string]any{"name": "a-service", "properties": map[string]any{"protocol": "Tcp", "port": 31234, "intervalInSeconds": 5, "numberOfProbes": 2}})
	_, err = s.Put(w.t.Context(), balancer, apiNetwork, *found)
	must(w.t, err)
	found, err = s.Get(w.t.Context(), nsg, apiNetwork)
	must(w.t, err)
	found.Tags["cost-center"] = "42"
	_, err = s.Put(w.t.Context(), nsg, apiNetwork, *found)
	must(w.t, err)
}

// An operation of anybody may fail on what the stack has made, and Azure shows it as failed until it is written again. A PUT without a list takes
// away what is in it: a further run finishes what failed, with the rules, subnets and probes that others have added since.
func TestWhatFailedIsFinishedWithWhatOthersAdded(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	_, err := infra.Create(t.Context(), s, plainInfra, nil)
	must(t, err)
	w.others(s)
	want := w.dump()
	nsg, vnet, balancer, address := w.ownNetwork()
	for _, id := range []string{nsg, vnet, balancer, address} {
		w.fails(s, id)
	}
	c, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		_, err := infra.Create(ctx, s, plainInfra, nil)
		return err
	})
	must(t, err)
	var wrote []string
	for _, id := range []string{nsg, vnet, balancer, address} {
		wrote = append(wrote, "PUT "+id)
	}
	if slices.Sort(wrote); !slices.Equal(slices.Sorted(slices.Values(c.writes)), wrote) {
		t.Errorf("written: %v", c.writes)
	}
	if d := differences(want, w.dump()); d != "" {
		t.Errorf("after the further run:\n%s", d)
	}
}

// What somebody adds between the look at what failed and the write of it stays too: the write is for what was looked at, and is tried again.
func TestWhatIsAddedMeanwhileStays(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	_, err := infra.Create(t.Context(), s, plainInfra, nil)
	must(t, err)
	nsg, _, _, _ := w.ownNetwork()
	w.fails(s, nsg)
	added := false
	meanwhile := before(w.transport, "PUT", nsg, func() {
		added = true
		w.others(s)
	})
	_, err = infra.Create(t.Context(), w.session(meanwhile), plainInfra, nil)
	must(t, err)
	if rules := rulesOf(t, s, nsg); !added || !slices.Equal(rules, []string{"k8s-azure-lb_allow_IPv4_0123 <nil>203.0.113.9"}) {
		t.Errorf("added %v; the rules are %q", added, rules)
	}
	found, err := s.Get(t.Context(), nsg, apiNetwork)
	must(t, err)
	if found.Property("provisioningState") != "Succeeded" || found.Tags["cost-center"] != "42" {
		t.Errorf("state %s, tags %v", found.Property("provisioningState"), found.Tags)
	}
}

// A further run changes nothing of what others have changed in what stands: tags, address space, rules.
func TestARunAgainLeavesOthersChanges(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	_, err := infra.Create(t.Context(), s, plainInfra, nil)
	must(t, err)
	w.others(s)
	group, err := s.Get(t.Context(), w.group("demo-demo-x"), "2021-04-01")
	must(t, err)
	group.Tags["owner"] = "me"
	_, err = s.Put(t.Context(), w.group("demo-demo-x"), "2021-04-01", azure.Resource{Location: group.Location, Tags: group.Tags})
	must(t, err)
	want := w.dump()
	again := plainInfra
	again.Tags = map[string]string{"team": "b"} // of what is made, and all is
	c, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		_, err := infra.Create(ctx, s, again, nil)
		return err
	})
	must(t, err)
	if len(c.writes) != 0 || differences(want, w.dump()) != "" {
		t.Errorf("written %v:\n%s", c.writes, differences(want, w.dump()))
	}
}

// A creation whose network group failed on the way goes on with a run of its own accord, and a destroy takes what the failed operation has left.
func TestAFailedCreationIsDestroyed(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	_, err := w.server.Faults().Add(fault.Rule{Preset: "operation-failed", Method: "PUT", Path: "Microsoft.Network/virtualNetworks/*", Code: "NetcfgInvalidSubnet", Message: "no"})
	must(t, err)
	_, err = w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		_, err := infra.Create(ctx, s, plainInfra, nil)
		return err
	})
	if failure.CodeOf(err) != "NetcfgInvalidSubnet" || !strings.Contains(err.Error(), "virtual network demo-demo-x") {
		t.Fatalf("error %v", err)
	}
	_, _, balancer, _ := w.ownNetwork()
	if _, made := w.dump()["arm "+strings.ToLower(balancer)]; !made {
		t.Errorf("what does not wait for the network was not made: %v", slices.Sorted(maps.Keys(w.dump())))
	}
	_, err = w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		return infra.Destroy(ctx, s, infra.DestroyOptions{Name: cluster, InfraID: infraID}, nil)
	})
	must(t, err)
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the destroy:\n%s", d)
	}
}
