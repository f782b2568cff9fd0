package azure_test

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/dns/armdns"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/privatedns/armprivatedns"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// What a virtual machine needs besides its size and its interfaces.
const (
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPF52JpL9DBh2zzsNdk+VQYCaTWQvH39azB/wYJnWj0p"
	flatcar   = `"imageReference":{"publisher":"kinvolk","offer":"flatcar-container-linux-corevm-amd64","sku":"stable-gen2","version":"latest"}`
	logins    = `"adminUsername":"core","linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"path":"/home/core/.ssh/authorized_keys","keyData":"` + publicKey + `"}]}}`
)

// done waits for a long-running operation.
func done[T any](t *testing.T, p *runtime.Poller[T], err error) T {
	t.Helper()
	must(t, err)
	v, err := p.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Millisecond * 5})
	must(t, err)
	return v
}

// wantCode asserts the status and code of a refusal.
func wantCode(t *testing.T, err error, status int, code string) {
	t.Helper()
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != status || re.ErrorCode != code {
		t.Helper()
		t.Fatalf("got %v, want %d %s", err, status, code)
	}
}

func (s *sandbox) group(name string) {
	s.t.Helper()
	c, err := armresources.NewResourceGroupsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	_, err = c.CreateOrUpdate(s.t.Context(), name, armresources.ResourceGroup{Location: to.Ptr(location)}, nil)
	must(s.t, err)
}

func (s *sandbox) network() *armnetwork.ClientFactory {
	s.t.Helper()
	f, err := armnetwork.NewClientFactory(subscription, s.user(), s.armOptions())
	must(s.t, err)
	return f
}

func (s *sandbox) compute() *armcompute.ClientFactory {
	s.t.Helper()
	f, err := armcompute.NewClientFactory(subscription, s.user(), s.armOptions())
	must(s.t, err)
	return f
}

// vnet makes network "vnet" with subnet "default" in the group.
func (s *sandbox) vnet(group string) *armnetwork.Subnet {
	s.t.Helper()
	p, err := s.network().NewVirtualNetworksClient().BeginCreateOrUpdate(s.t.Context(), group, "vnet", armnetwork.VirtualNetwork{
		Location: to.Ptr(location),
		Properties: &armnetwork.VirtualNetworkPropertiesFormat{
			AddressSpace: &armnetwork.AddressSpace{AddressPrefixes: []*string{to.Ptr("10.0.0.0/16")}},
			Subnets:      []*armnetwork.Subnet{{Name: to.Ptr("default"), Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: to.Ptr("10.0.0.0/24")}}},
		}}, nil)
	return done(s.t, p, err).Properties.Subnets[0]
}

func (s *sandbox) nic(group, name string, subnet *armnetwork.Subnet, pools ...*armnetwork.BackendAddressPool) *armnetwork.Interface {
	s.t.Helper()
	p, err := s.network().NewInterfacesClient().BeginCreateOrUpdate(s.t.Context(), group, name, armnetwork.Interface{
		Location: to.Ptr(location),
		Properties: &armnetwork.InterfacePropertiesFormat{IPConfigurations: []*armnetwork.InterfaceIPConfiguration{{Name: to.Ptr("pipConfig"),
			Properties: &armnetwork.InterfaceIPConfigurationPropertiesFormat{Subnet: &armnetwork.Subnet{ID: subnet.ID}, LoadBalancerBackendAddressPools: pools}}}}}, nil)
	r := done(s.t, p, err)
	return &r.Interface
}

// machineProperties are those of a machine that Azure takes.
func machineProperties(name string, nic *armnetwork.Interface) *armcompute.VirtualMachineProperties {
	return &armcompute.VirtualMachineProperties{
		HardwareProfile: &armcompute.HardwareProfile{VMSize: to.Ptr(armcompute.VirtualMachineSizeTypes("Standard_D2s_v3"))},
		StorageProfile: &armcompute.StorageProfile{OSDisk: &armcompute.OSDisk{CreateOption: to.Ptr(armcompute.DiskCreateOptionTypesFromImage), Name: to.Ptr(name + "-disk")},
			ImageReference: &armcompute.ImageReference{Publisher: to.Ptr("kinvolk"), Offer: to.Ptr("flatcar-container-linux-corevm-amd64"), SKU: to.Ptr("stable-gen2"), Version: to.Ptr("latest")}},
		OSProfile: &armcompute.OSProfile{ComputerName: to.Ptr(name), CustomData: to.Ptr(base64.StdEncoding.EncodeToString([]byte("ignition"))), AdminUsername: to.Ptr("core"),
			LinuxConfiguration: &armcompute.LinuxConfiguration{DisablePasswordAuthentication: to.Ptr(true),
				SSH: &armcompute.SSHConfiguration{PublicKeys: []*armcompute.SSHPublicKey{{Path: to.Ptr("/home/core/.ssh/authorized_keys"), KeyData: to.Ptr(publicKey)}}}}},
		NetworkProfile: &armcompute.NetworkProfile{NetworkInterfaces: []*armcompute.NetworkInterfaceReference{{ID: nic.ID}}},
	}
}

func (s *sandbox) vm(group, name string, nic *armnetwork.Interface) *armcompute.VirtualMachine {
	s.t.Helper()
	p, err := s.compute().NewVirtualMachinesClient().BeginCreateOrUpdate(s.t.Context(), group, name, armcompute.VirtualMachine{
		Location: to.Ptr(location), Zones: []*string{to.Ptr("1")},
		Properties: machineProperties(name, nic)}, nil)
	r := done(s.t, p, err)
	return &r.VirtualMachine
}

func TestResourceGroups(t *testing.T) {
	s := newSandbox(t)
	c, err := armresources.NewResourceGroupsClient(subscription, s.user(), s.armOptions())
	must(t, err)
	ctx := t.Context()
	_, err = c.Get(ctx, "rg", nil)
	wantCode(t, err, 404, "ResourceGroupNotFound")
	out, err := c.CreateOrUpdate(ctx, "Rg", armresources.ResourceGroup{Location: to.Ptr("East US"), Tags: map[string]*string{"a": to.Ptr("b")}}, nil)
	must(t, err)
	if *out.ID != "/subscriptions/"+subscription+"/resourceGroups/Rg" || *out.Location != "eastus" || *out.Type != "Microsoft.Resources/resourceGroups" {
		t.Errorf("got %v %v %v", *out.ID, *out.Location, *out.Type)
	}
	_, err = c.CreateOrUpdate(ctx, "rg", armresources.ResourceGroup{Location: to.Ptr("westus")}, nil)
	wantCode(t, err, 409, "InvalidResourceGroupLocation")
	if ok, err := c.CheckExistence(ctx, "RG", nil); err != nil || !ok.Success {
		t.Error("ids must be case-insensitive", err)
	}
	s.vnet("rg")
	p, err := c.BeginDelete(ctx, "rg", nil)
	done(t, p, err)
	_, err = s.network().NewVirtualNetworksClient().Get(ctx, "rg", "vnet", nil)
	wantCode(t, err, 404, "ResourceGroupNotFound")
}

func TestMachineAndBalancer(t *testing.T) {
	s := newSandbox(t)
	ctx := t.Context()
	s.group("rg")
	subnet := s.vnet("rg")
	lb, pip := s.balancer("rg", "lb")
	nic := s.nic("rg", "nic", subnet, lb.Properties.BackendAddressPools[0])
	if ip := *nic.Properties.IPConfigurations[0].Properties.PrivateIPAddress; ip != "10.0.0.4" {
		t.Errorf("the first address of a subnet is 10.0.0.4, not %s", ip)
	}
	if s.nic("rg", "nic2", subnet); *pip.Properties.IPAddress != "198.18.16.1" {
		t.Errorf("public address %s", *pip.Properties.IPAddress)
	}
	vm := s.vm("rg", "vm-1", nic)
	if vm.Properties.OSProfile.CustomData != nil {
		t.Error("customData is write-only")
	}
	disk, err := s.compute().NewDisksClient().Get(ctx, "rg", "vm-1-disk", nil)
	must(t, err)
	if *disk.ManagedBy != *vm.ID {
		t.Error("the OS disk is not the VM's")
	}
	_, err = s.network().NewInterfacesClient().BeginDelete(ctx, "rg", "nic", nil)
	wantCode(t, err, 400, "NicInUse")

	snap, err := s.feed().Watch(ctx, 0)
	must(t, err)
	checkSnapshot(t, snap)
	must(t, s.feed().Report(ctx, feed.Status{ID: *vm.ID, PowerState: feed.PowerRunning}))
	view, err := s.compute().NewVirtualMachinesClient().Get(ctx, "RG", "vm-1", &armcompute.VirtualMachinesClientGetOptions{Expand: to.Ptr(armcompute.InstanceViewTypesInstanceView)})
	must(t, err)
	if code := *view.Properties.InstanceView.Statuses[1].Code; code != "PowerState/running" {
		t.Error(code)
	}
	s.powerActions(snap.Revision)

	p, err := s.compute().NewVirtualMachinesClient().BeginDelete(ctx, "rg", "vm-1", nil)
	done(t, p, err)
	n, err := s.network().NewInterfacesClient().BeginDelete(ctx, "rg", "nic", nil)
	done(t, n, err)
	d, err := s.compute().NewDisksClient().BeginDelete(ctx, "rg", "vm-1-disk", nil)
	done(t, d, err)
}

func checkSnapshot(t *testing.T, snap feed.Snapshot) {
	t.Helper()
	if len(snap.Machines) != 1 || len(snap.Networks) != 1 || len(snap.LoadBalancers) != 1 {
		t.Fatalf("snapshot %+v", snap)
	}
	m := snap.Machines[0]
	if m.ComputerName != "vm-1" || !m.Running || m.VCPUs != 2 || m.MemoryMiB != 8192 || m.Zone != "1" || m.CustomData != base64.StdEncoding.EncodeToString([]byte("ignition")) {
		t.Errorf("machine %+v", m)
	}
	if len(m.NICs) != 1 || m.NICs[0].PrivateIP != "10.0.0.4" || m.NICs[0].NetworkID != snap.Networks[0].ID || m.NICs[0].SubnetID != snap.Networks[0].Subnets[0].ID {
		t.Errorf("NIC %+v", m.NICs)
	}
	lb := snap.LoadBalancers[0]
	if f := lb.Frontends[0]; f.IP != "198.18.16.1" || !f.Public {
		t.Errorf("frontend %+v", f)
	}
	r := lb.Rules[0]
	if r.Frontend != "fe" || r.FrontendPort != 443 || r.BackendPort != 30443 || r.ProbeName != "probe" || len(r.Backends) != 1 || r.Backends[0].MachineID != m.ID {
		t.Errorf("rule %+v", r)
	}
}

func (s *sandbox) powerActions(after uint64) {
	s.t.Helper()
	vms := s.compute().NewVirtualMachinesClient()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	p, err := vms.BeginRestart(ctx, "rg", "vm-1", nil)
	done(s.t, p, err)
	snap, err := s.feed().Watch(ctx, after)
	must(s.t, err)
	if m := snap.Machines[0]; !m.Running || m.Generation != 2 {
		s.t.Errorf("after a restart: %+v", m)
	}
	q, err := vms.BeginDeallocate(ctx, "rg", "vm-1", nil)
	done(s.t, q, err)
	snap, err = s.feed().Watch(ctx, snap.Revision)
	must(s.t, err)
	if snap.Machines[0].Running {
		s.t.Error("a deallocated machine is wanted running")
	}
}

func (s *sandbox) balancer(group, name string) (*armnetwork.LoadBalancer, *armnetwork.PublicIPAddress) {
	s.t.Helper()
	ctx := s.t.Context()
	pp, err := s.network().NewPublicIPAddressesClient().BeginCreateOrUpdate(ctx, group, name+"-ip", armnetwork.PublicIPAddress{
		Location: to.Ptr(location), SKU: &armnetwork.PublicIPAddressSKU{Name: to.Ptr(armnetwork.PublicIPAddressSKUNameStandard)},
		Properties: &armnetwork.PublicIPAddressPropertiesFormat{PublicIPAllocationMethod: to.Ptr(armnetwork.IPAllocationMethodStatic),
			DNSSettings: &armnetwork.PublicIPAddressDNSSettings{DomainNameLabel: to.Ptr("label")}}}, nil)
	pip := done(s.t, pp, err).PublicIPAddress
	id := "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Network/loadBalancers/" + name
	lp, err := s.network().NewLoadBalancersClient().BeginCreateOrUpdate(ctx, group, name, armnetwork.LoadBalancer{Location: to.Ptr(location),
		SKU: &armnetwork.LoadBalancerSKU{Name: to.Ptr(armnetwork.LoadBalancerSKUNameStandard)},
		Properties: &armnetwork.LoadBalancerPropertiesFormat{
			FrontendIPConfigurations: []*armnetwork.FrontendIPConfiguration{{Name: to.Ptr("fe"), Properties: &armnetwork.FrontendIPConfigurationPropertiesFormat{PublicIPAddress: &armnetwork.PublicIPAddress{ID: pip.ID}}}},
			BackendAddressPools:      []*armnetwork.BackendAddressPool{{Name: to.Ptr("pool")}},
			Probes: []*armnetwork.Probe{{Name: to.Ptr("probe"), Properties: &armnetwork.ProbePropertiesFormat{Protocol: to.Ptr(armnetwork.ProbeProtocolTCP), Port: to.Ptr(int32(30443)),
				IntervalInSeconds: to.Ptr(int32(5)), NumberOfProbes: to.Ptr(int32(2))}}},
			LoadBalancingRules: []*armnetwork.LoadBalancingRule{{Name: to.Ptr("rule"), Properties: &armnetwork.LoadBalancingRulePropertiesFormat{
				Protocol: to.Ptr(armnetwork.TransportProtocolTCP), FrontendPort: to.Ptr(int32(443)), BackendPort: to.Ptr(int32(30443)),
				FrontendIPConfiguration: &armnetwork.SubResource{ID: to.Ptr(id + "/frontendIPConfigurations/fe")},
				BackendAddressPool:      &armnetwork.SubResource{ID: to.Ptr(id + "/backendAddressPools/pool")},
				Probe:                   &armnetwork.SubResource{ID: to.Ptr(id + "/probes/probe")}}}},
		}}, nil)
	lb := done(s.t, lp, err).LoadBalancer
	return &lb, &pip
}

func TestSubnetRules(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.nic("rg", "nic", s.vnet("rg"))
	subnets := s.network().NewSubnetsClient()
	_, err := subnets.BeginCreateOrUpdate(t.Context(), "rg", "vnet", "overlap", armnetwork.Subnet{Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: to.Ptr("10.0.0.128/25")}}, nil)
	wantCode(t, err, 400, "NetcfgSubnetRangesOverlap")
	_, err = subnets.BeginCreateOrUpdate(t.Context(), "rg", "vnet", "outside", armnetwork.Subnet{Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: to.Ptr("10.1.0.0/24")}}, nil)
	wantCode(t, err, 400, "NetcfgInvalidSubnet")
	_, err = s.network().NewVirtualNetworksClient().BeginDelete(t.Context(), "rg", "vnet", nil)
	wantCode(t, err, 400, "InUseSubnetCannotBeDeleted")
	p, err := subnets.BeginCreateOrUpdate(t.Context(), "rg", "vnet", "second", armnetwork.Subnet{Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: to.Ptr("10.0.1.0/24")}}, nil)
	done(t, p, err)
	v, err := s.network().NewVirtualNetworksClient().Get(t.Context(), "rg", "vnet", nil)
	must(t, err)
	if len(v.Properties.Subnets) != 2 {
		t.Errorf("%d subnets are embedded", len(v.Properties.Subnets))
	}
}

func TestZones(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.vnet("rg")
	ctx := t.Context()
	zones, err := armdns.NewClientFactory(subscription, s.user(), s.armOptions())
	must(t, err)
	z, err := zones.NewZonesClient().CreateOrUpdate(ctx, "rg", "hypershift.test", armdns.Zone{Location: to.Ptr("global")}, nil)
	must(t, err)
	if len(z.Properties.NameServers) != 4 || *z.Properties.NumberOfRecordSets != 2 {
		t.Errorf("zone %+v", z.Properties)
	}
	_, err = zones.NewRecordSetsClient().CreateOrUpdate(ctx, "rg", "hypershift.test", "*.apps", armdns.RecordTypeA, armdns.RecordSet{
		Properties: &armdns.RecordSetProperties{TTL: to.Ptr(int64(30)), ARecords: []*armdns.ARecord{{IPv4Address: to.Ptr("198.18.0.2")}}}}, nil)
	must(t, err)
	_, err = zones.NewRecordSetsClient().Delete(ctx, "rg", "hypershift.test", "@", armdns.RecordTypeSOA, nil)
	wantCode(t, err, 400, "BadRequest")

	private, err := armprivatedns.NewClientFactory(subscription, s.user(), s.armOptions())
	must(t, err)
	pp, err := private.NewPrivateZonesClient().BeginCreateOrUpdate(ctx, "rg", "hc.local", armprivatedns.PrivateZone{Location: to.Ptr("global")}, nil)
	done(t, pp, err)
	link := armprivatedns.VirtualNetworkLink{Location: to.Ptr("global"), Properties: &armprivatedns.VirtualNetworkLinkProperties{
		VirtualNetwork: &armprivatedns.SubResource{ID: to.Ptr("/subscriptions/" + subscription + "/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/vnet")}}}
	lp, err := private.NewVirtualNetworkLinksClient().BeginCreateOrUpdate(ctx, "rg", "hc.local", "link", link, nil)
	done(t, lp, err)
	_, err = private.NewVirtualNetworkLinksClient().BeginCreateOrUpdate(ctx, "rg", "hc.local", "again", link, nil)
	wantCode(t, err, 409, "Conflict")
	_, err = private.NewPrivateZonesClient().BeginDelete(ctx, "rg", "hc.local", nil)
	wantCode(t, err, 409, "CannotDeleteResource")
}

func TestSKUsAndProviders(t *testing.T) {
	s := newSandbox(t)
	pages := s.compute().NewResourceSKUsClient().NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: to.Ptr("location eq 'eastus'")})
	found := false
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		must(t, err)
		for _, sku := range page.Value {
			found = found || *sku.Name == "Standard_D4s_v4" && len(sku.LocationInfo[0].Zones) == 3
		}
	}
	if !found {
		t.Error("no Standard_D4s_v4")
	}
	c, err := armresources.NewProvidersClient(subscription, s.user(), s.armOptions())
	must(t, err)
	p, err := c.Get(t.Context(), "Microsoft.Compute", nil)
	must(t, err)
	if *p.RegistrationState != "Registered" || len(p.ResourceTypes) == 0 {
		t.Error("Microsoft.Compute is not registered")
	}
}
