package hypervisor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

const (
	networkIn = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/"
	computeIn = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Compute/"
)

// region has the documents that are given, by id, and the power of machines.
func region(t *testing.T, documents map[string]string, power map[string]store.Doc) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.Update(func(tx *store.Tx) error {
		for id, text := range documents {
			d := store.Doc{}
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			segs := strings.Split(id[strings.Index(id, "/providers/")+len("/providers/"):], "/")
			typ := segs[0]
			for n := 1; n < len(segs); n += 2 {
				typ += "/" + segs[n]
			}
			d["id"], d["type"], d["name"] = id, typ, segs[len(segs)-1]
			tx.Put(store.ARM, strings.ToLower(id), d)
		}
		for id, d := range power {
			tx.Put(store.Power, strings.ToLower(id), d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The machine as the hypervisor has to make it.
func TestMachines(t *testing.T) {
	vm := computeIn + "virtualMachines/Web"
	s := region(t, map[string]string{
		vm: `{"location":"eastus","zones":["2"],"tags":{"a":"b","sandbox-hollow":"True"},"properties":{"vmId":"id",
			"hardwareProfile":{"vmSize":"standard_d2S_v3"},"osProfile":{"computerName":"web-0"},
			"storageProfile":{"imageReference":{"publisher":"p","offer":"o","sku":"s","version":"latest"},"dataDisks":[{"lun":3,"managedDisk":{"id":"` +
			computeIn + `disks/data"}},{"lun":4,"managedDisk":{"id":"` + computeIn + `disks/none"}}]},
			"networkProfile":{"networkInterfaces":[{"id":"` + networkIn + `networkInterfaces/nic"},{"id":"` + networkIn + `networkInterfaces/none"}]}}}`,
		computeIn + "virtualMachines/plain": `{"properties":{"storageProfile":{"imageReference":{"id":"/image"}}}}`,
		computeIn + "disks/data":            `{"properties":{"uniqueId":"u1","diskSizeGB":8,"creationData":{"sourceUniqueId":"u0"}}}`,
		computeIn + "disks/system":          `{"properties":{"uniqueId":"u2","diskSizeGB":30,"osType":"Linux"}}`,
		computeIn + "snapshots/snap":        `{"properties":{"uniqueId":"u3","diskSizeGB":8}}`,
		networkIn + "publicIPAddresses/pip": `{"properties":{"ipAddress":"203.0.113.1"}}`,
		networkIn + "networkInterfaces/nic": `{"properties":{"macAddress":"00-0D-3A-AA-BB-CC",
			"ipConfigurations":[{"properties":{"privateIPAddress":"10.0.0.5","subnet":{"id":"` + networkIn + `virtualNetworks/v/subnets/a"}}},
			{"properties":{"primary":true,"privateIPAddress":"10.0.0.6","subnet":{"id":"` + networkIn +
			`virtualNetworks/v/subnets/a"},"publicIPAddress":{"id":"` + networkIn + `publicIPAddresses/pip"}}}]}}`,
	}, map[string]store.Doc{vm: {"wanted": feed.PowerRunning, "generation": 2.0}, computeIn + "virtualMachines/plain": {"wanted": feed.PowerDeallocated}})
	snap := Snapshot(s)
	byName := map[string]feed.Machine{}
	for _, m := range snap.Machines {
		byName[m.Name] = m
	}
	want := feed.Machine{ID: vm, VMID: "id", Name: "Web", ComputerName: "web-0", ResourceGroup: "rg", SubscriptionID: "s", Location: "eastus", Zone: "2",
		Size: "standard_d2S_v3", VCPUs: 2, MemoryMiB: 8192,
		Tags: map[string]string{"a": "b", "sandbox-hollow": "True"}, Hollow: true, Running: true, Generation: 2, ImageReference: "p:o:s:latest",
		DataDisks: []feed.DataDisk{{LUN: 3, UniqueID: "u1"}},
		NICs: []feed.NIC{{ID: networkIn + "networkInterfaces/nic", Primary: true, MAC: "00:0d:3a:aa:bb:cc", PrivateIP: "10.0.0.6", PublicIP: "203.0.113.1",
			SubnetID: networkIn + "virtualNetworks/v/subnets/a", NetworkID: networkIn + "virtualNetworks/v"}}}
	if got := byName["Web"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if m := byName["plain"]; m.ComputerName != "plain" || m.ImageReference != "/image" || m.Running || m.Zone != "" || m.Hollow || m.Host {
		t.Errorf("one that says little: %+v", m)
	}
	disks := map[string]feed.Disk{}
	for _, d := range snap.Disks {
		disks[d.UniqueID] = d
	}
	if len(disks) != 2 || disks["u1"] != (feed.Disk{UniqueID: "u1", SizeGiB: 8, Source: "u0"}) || disks["u3"].SizeGiB != 8 {
		t.Errorf("disks: %+v, and those with a system are the machines' own", disks)
	}
}

// The balancer with those behind it, whichever spelling leads to them.
func TestBalancers(t *testing.T) {
	lb, nic := networkIn+"loadBalancers/lb", networkIn+"networkInterfaces/nic"
	s := region(t, map[string]string{
		networkIn + "publicIPAddresses/pip": `{"properties":{"ipAddress":"203.0.113.1"}}`,
		nic: `{"properties":{"virtualMachine":{"id":"/vm"},"ipConfigurations":[{"properties":{"privateIPAddress":"10.0.0.5","subnet":{"id":"` + networkIn +
			`virtualNetworks/v/subnets/a"},
			"loadBalancerBackendAddressPools":[{"id":"` + strings.ToUpper(lb) + `/backendAddressPools/POOL"}],"loadBalancerInboundNatRules":[{"id":"` + lb +
			`/inboundNatRules/ssh"}]}}]}}`,
		lb: strings.ReplaceAll(`{"properties":{"frontendIPConfigurations":[{"name":"pub","properties":{"publicIPAddress":{"id":"`+
			networkIn+`publicIPAddresses/pip"}}},{"name":"in","properties":{"privateIPAddress":"10.0.0.9","subnet":{"id":"/a"}}}],
			"backendAddressPools":[{"name":"pool","id":"LB/backendAddressPools/pool"},{"name":"empty","id":"LB/backendAddressPools/empty"}],
			"probes":[{"name":"old","properties":{"protocol":"Tcp","port":"80","intervalInSeconds":5,"numberOfProbes":2}},{"name":"new",
				"properties":{"protocol":"Http","port":81,"requestPath":"/healthz","probeThreshold":3,"numberOfProbes":1}}],
			"loadBalancingRules":[{"name":"one","properties":{"protocol":"Tcp","frontendPort":443,"backendPort":6443,"enableFloatingIP":true,
				"disableOutboundSnat":true,"frontendIPConfiguration":{"id":"LB/frontendIPConfigurations/pub"},
				"backendAddressPool":{"id":"LB/backendAddressPools/pool"},"probe":{"id":"LB/probes/new"}}},
				{"name":"two","properties":{"protocol":"Udp","frontendPort":"53","backendPort":53,
					"frontendIPConfiguration":{"id":"LB/frontendIPConfigurations/in"},"backendAddressPools":[{"id":"LB/backendAddressPools/empty"}]}}],
			"inboundNatRules":[{"name":"ssh","id":"LB/inboundNatRules/ssh","properties":{"protocol":"Tcp","frontendPort":2222,"backendPort":22,
				"frontendIPConfiguration":{"id":"LB/frontendIPConfigurations/pub"}}}]}}`, "LB", lb),
	}, nil)
	got := Snapshot(s).LoadBalancers[0]
	behind := feed.Backend{NICID: nic, MachineID: "/vm", PrivateIP: "10.0.0.5", NetworkID: networkIn + "virtualNetworks/v"}
	want := feed.LoadBalancer{ID: lb, Name: "lb",
		Frontends: []feed.Frontend{{Name: "pub", IP: "203.0.113.1", Public: true}, {Name: "in", IP: "10.0.0.9", SubnetID: "/a"}},
		Pools:     []feed.Pool{{Name: "pool", Backends: []feed.Backend{behind}}, {Name: "empty", Backends: []feed.Backend{}}},
		Probes: []feed.Probe{{Name: "old", Protocol: "Tcp", Port: 80, IntervalSeconds: 5, NumberOfProbes: 2},
			{Name: "new", Protocol: "Http", Port: 81, Path: "/healthz", NumberOfProbes: 3}},
		Rules: []feed.Rule{{Name: "one", Frontend: "pub", Protocol: "Tcp", FrontendPort: 443, BackendPort: 6443, FloatingIP: true, ProbeName: "new",
			Pool: "pool", Backends: []feed.Backend{behind}},
			{Name: "two", Frontend: "in", Protocol: "Udp", FrontendPort: 53, BackendPort: 53, Pool: "empty", Backends: []feed.Backend{}, SNAT: true}},
		NATRules: []feed.NATRule{{Name: "ssh", Frontend: "pub", Protocol: "Tcp", FrontendPort: 2222, BackendPort: 22, Backend: behind}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// Rules come in the order in which they count, and each of their lists has something in it.
func TestSecurityGroups(t *testing.T) {
	s := region(t, map[string]string{
		networkIn + "networkSecurityGroups/nsg": `{}`,
		networkIn + "networkSecurityGroups/nsg/securityRules/late": `{"properties":{"priority":200,"direction":"Inbound","access":"Deny","protocol":"*",
			"sourceAddressPrefix":"Internet","destinationPortRanges":["80","443"]}}`,
		networkIn + "networkSecurityGroups/nsg/securityRules/soon": `{"properties":{"priority":100,"direction":"Inbound","access":"Allow","protocol":"Tcp",
			"sourceAddressPrefixes":["10.0.0.0/8"],"sourceAddressPrefix":"","destinationPortRange":"22"}}`,
		networkIn + "virtualNetworks/v": `{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`,
		networkIn + "virtualNetworks/v/subnets/a": `{"properties":{"addressPrefix":"10.0.0.0/24","networkSecurityGroup":{"id":"` +
			networkIn + `networkSecurityGroups/NSG"},"defaultOutboundAccess":false}}`,
		networkIn + "virtualNetworks/v/subnets/b": `{"properties":{"addressPrefix":"10.0.1.0/24","networkSecurityGroup":{"id":"/none"}}}`,
	}, nil)
	for _, subnet := range Snapshot(s).Networks[0].Subnets {
		if subnet.Name == "b" {
			if subnet.SecurityGroup != nil || !subnet.Outbound {
				t.Errorf("a subnet without: %+v", subnet)
			}
			continue
		}
		rules := subnet.SecurityGroup.Rules
		if len(rules) != 2 || rules[0].Name != "soon" || rules[1].Name != "late" || subnet.Outbound {
			t.Fatalf("%+v", subnet)
		}
		any := []string{"*"}
		for i, want := range []feed.SecurityRule{
			{SourcePrefixes: []string{"10.0.0.0/8"}, SourcePorts: any, DestinationPrefixes: any, DestinationPorts: []string{"22"}},
			{SourcePrefixes: []string{"Internet"}, SourcePorts: any, DestinationPrefixes: any, DestinationPorts: []string{"80", "443"}},
		} {
			got := rules[i]
			if !reflect.DeepEqual([][]string{got.SourcePrefixes, got.SourcePorts, got.DestinationPrefixes, got.DestinationPorts},
				[][]string{want.SourcePrefixes, want.SourcePorts, want.DestinationPrefixes, want.DestinationPorts}) {
				t.Errorf("%+v, want %+v", got, want)
			}
		}
	}
}

// What the hypervisor says of a machine is kept; of one that is gone, and what is known already, nothing is written.
func TestReports(t *testing.T) {
	vm := computeIn + "virtualMachines/vm"
	s := region(t, map[string]string{vm: `{"properties":{"vmId":"ID"}}`}, map[string]store.Doc{vm: {"wanted": feed.PowerRunning}})
	power := func() (d store.Doc) {
		s.View(func(tx *store.Tx) { d = tx.Get(store.Power, strings.ToLower(vm)) })
		return d
	}
	report := func(st feed.Status) bool {
		before, _ := s.Revision()
		if err := ReportPower(s, st); err != nil {
			t.Fatal(err)
		}
		after, _ := s.Revision()
		return after != before
	}
	first := feed.Status{ID: strings.ToUpper(vm), PowerState: feed.PowerRunning, Console: "/console", Provisioning: feed.ProvisioningRunning}
	if !report(first) || report(first) || report(feed.Status{ID: vm, PowerState: feed.PowerRunning}) {
		t.Error("what is new is written, what is known is not")
	}
	if !report(feed.Status{ID: vm, PowerState: feed.PowerStopped, Message: "crashed"}) {
		t.Error("another state is not written")
	}
	failed := feed.Status{ID: vm, PowerState: feed.PowerStopped, Message: "crashed", Provisioning: feed.ProvisioningRunning, ProvisioningMessage: "why"}
	if !report(failed) || report(failed) || power()["provisioningMessage"] != "why" {
		t.Error("why a guest is not ready is not kept")
	}
	if d := power(); d["reported"] != feed.PowerStopped || d["message"] != "crashed" || d["console"] != "/console" ||
		d["provisioning"] != feed.ProvisioningRunning || d["wanted"] != feed.PowerRunning {
		t.Errorf("kept: %v", d)
	}
	if report(feed.Status{ID: vm + "2", PowerState: feed.PowerRunning}) {
		t.Error("a machine that is gone comes back by a report")
	}
	if Console(s, "ID") != "/console" || Console(s, "none") != "" {
		t.Error("the console of a machine")
	}
}
