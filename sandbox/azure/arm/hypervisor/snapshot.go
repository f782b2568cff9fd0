// Package hypervisor tells the hypervisor what the resource manager wants of it, and notes what it reports.
package hypervisor

import (
	"sort"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/compute"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/network"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Snapshot is the state the hypervisor has to bring about, without its revision.
func Snapshot(s *store.Store) feed.Snapshot {
	out := feed.Snapshot{Networks: []feed.Network{}, Machines: []feed.Machine{}, LoadBalancers: []feed.LoadBalancer{}}
	s.View(func(tx *store.Tx) {
		c := &provider.Call{Tx: tx}
		for _, r := range c.Within("", network.TypeVNet) {
			out.Networks = append(out.Networks, feedNetwork(c, r))
		}
		for _, r := range c.Within("", compute.TypeVM) {
			out.Machines = append(out.Machines, feedMachine(c, r))
		}
		for _, kind := range []string{compute.TypeDisk, compute.TypeSnapshot} {
			for _, r := range c.Within("", kind) {
				if d := feedDisk(r); d.SizeGiB > 0 {
					out.Disks = append(out.Disks, d)
				}
			}
		}
		pools := poolMembers(c)
		for _, r := range c.Within("", network.TypeLoadBalancer) {
			out.LoadBalancers = append(out.LoadBalancers, feedBalancer(c, r, pools))
		}
	})
	return out
}

func feedNetwork(c *provider.Call, r *provider.Resource) feed.Network {
	n := feed.Network{ID: r.ID, Name: r.Name, Prefixes: wire.Texts(wire.Sub(wire.Props(r.Body), "addressSpace"), "addressPrefixes"), Subnets: []feed.Subnet{}}
	for _, s := range c.Within(r.ID, network.TypeSubnet) {
		p := wire.Props(s.Body)
		n.Subnets = append(n.Subnets, feed.Subnet{ID: s.ID, Name: s.Name, Prefix: wire.Text(p, "addressPrefix"), SecurityGroup: feedGroup(c, p),
			NATGateway: feedGateway(c, p), Routes: feedRoutes(c, p), Outbound: p["defaultOutboundAccess"] != false})
	}
	return n
}

// feedGroup is the security group of a subnet or an interface, nil without one.
func feedGroup(c *provider.Call, p wire.Doc) *feed.SecurityGroup {
	nsg := c.Get(wire.Ref(p, "networkSecurityGroup"))
	if nsg == nil {
		return nil
	}
	return &feed.SecurityGroup{ID: nsg.ID, Rules: feedRules(c, nsg)}
}

func feedGateway(c *provider.Call, p wire.Doc) *feed.NATGateway {
	nat := c.Get(wire.Ref(p, "natGateway"))
	if nat == nil {
		return nil
	}
	out := &feed.NATGateway{ID: nat.ID, PublicIPs: []string{}}
	for _, d := range wire.Docs(wire.Props(nat.Body), "publicIpAddresses") {
		if ip := addressOf(c, wire.Text(d, "id")); ip != "" {
			out.PublicIPs = append(out.PublicIPs, ip)
		}
	}
	return out
}

// addressOf is the address of a public IP resource, "" where there is none.
func addressOf(c *provider.Call, id string) string {
	pip := c.Get(id)
	if pip == nil {
		return ""
	}
	return wire.Text(wire.Props(pip.Body), "ipAddress")
}

func feedRoutes(c *provider.Call, p wire.Doc) []feed.Route {
	table := c.Get(wire.Ref(p, "routeTable"))
	if table == nil {
		return nil
	}
	var out []feed.Route
	for _, r := range c.Within(table.ID, network.TypeRoute) {
		q := wire.Props(r.Body)
		out = append(out, feed.Route{Prefix: wire.Text(q, "addressPrefix"), NextHop: wire.Text(q, "nextHopType"), Address: wire.Text(q, "nextHopIpAddress")})
	}
	return out
}

func feedRules(c *provider.Call, nsg *provider.Resource) []feed.SecurityRule {
	out := []feed.SecurityRule{}
	for _, r := range c.Within(nsg.ID, network.TypeSecurityRule) {
		p := wire.Props(r.Body)
		out = append(out, feed.SecurityRule{
			Name: r.Name, Priority: wire.Number(p, "priority"), Direction: wire.Text(p, "direction"), Access: wire.Text(p, "access"),
			Protocol:            wire.Text(p, "protocol"),
			SourcePrefixes:      oneOrMany(p, "sourceAddressPrefix", "sourceAddressPrefixes"),
			SourcePorts:         oneOrMany(p, "sourcePortRange", "sourcePortRanges"),
			DestinationPrefixes: oneOrMany(p, "destinationAddressPrefix", "destinationAddressPrefixes"),
			DestinationPorts:    oneOrMany(p, "destinationPortRange", "destinationPortRanges"),
		})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Priority < out[j].Priority })
	return out
}

func oneOrMany(p wire.Doc, one, many string) []string {
	if l := wire.Texts(p, many); len(l) > 0 {
		return l
	}
	if s := wire.Text(p, one); s != "" {
		return []string{s}
	}
	return []string{"*"}
}

func feedMachine(c *provider.Call, r *provider.Resource) feed.Machine {
	p := wire.Props(r.Body)
	power := c.Tx.Get(store.Power, provider.Key(r.ID))
	s, _ := compute.SizeOf(compute.VMSize(r))
	m := feed.Machine{
		ID: r.ID, VMID: wire.Text(p, "vmId"), Name: r.Name, ComputerName: wire.Text(wire.Sub(p, "osProfile"), "computerName"),
		ResourceGroup: provider.LastSegment(provider.ResourceGroupOf(r.ID)), SubscriptionID: provider.SegmentAfter(r.ID, "subscriptions"), Location: wire.Text(r.Body, "location"),
		Size: compute.VMSize(r), VCPUs: s.VCPUs, MemoryMiB: s.MemoryMiB, Tags: map[string]string{}, NICs: []feed.NIC{},
		CustomData:     wire.Text(c.Tx.Get(store.UserData, provider.Key(r.ID)), "customData"),
		ImageReference: imageReference(wire.Sub(wire.Sub(p, "storageProfile"), "imageReference")),
		Running:        wire.Text(power, "wanted") == feed.PowerRunning, Generation: uint64(wire.Number(power, "generation")),
	}
	if m.ComputerName == "" {
		m.ComputerName = r.Name
	}
	if zones := wire.Texts(r.Body, "zones"); len(zones) > 0 {
		m.Zone = zones[0]
	}
	for k, v := range wire.Sub(r.Body, "tags") {
		m.Tags[k], _ = v.(string)
	}
	m.Host, m.Hollow = compute.IsHost(r), compute.IsHollow(r)
	m.DataDisks = feedDataDisks(c, p)
	for i, n := range wire.Docs(wire.Sub(p, "networkProfile"), "networkInterfaces") {
		if nic := c.Get(wire.Text(n, "id")); nic != nil {
			m.NICs = append(m.NICs, feedNIC(c, nic, i == 0))
		}
	}
	return m
}

// feedDisk has no size for a disk with an operating system: machines bring that themselves.
func feedDisk(r *provider.Resource) feed.Disk {
	p := wire.Props(r.Body)
	if wire.Text(p, "osType") != "" {
		return feed.Disk{}
	}
	return feed.Disk{UniqueID: wire.Text(p, "uniqueId"), SizeGiB: wire.Number(p, "diskSizeGB"), Source: wire.Text(wire.Sub(p, "creationData"), "sourceUniqueId")}
}

func feedDataDisks(c *provider.Call, p wire.Doc) []feed.DataDisk {
	var out []feed.DataDisk
	for _, d := range wire.Docs(wire.Sub(p, "storageProfile"), "dataDisks") {
		if disk := c.Get(wire.Ref(d, "managedDisk")); disk != nil {
			out = append(out, feed.DataDisk{LUN: wire.Number(d, "lun"), UniqueID: wire.Text(wire.Props(disk.Body), "uniqueId")})
		}
	}
	return out
}

func imageReference(d wire.Doc) string {
	if id := wire.Text(d, "id"); id != "" {
		return id
	}
	if wire.Text(d, "publisher") == "" {
		return ""
	}
	return strings.Join([]string{wire.Text(d, "publisher"), wire.Text(d, "offer"), wire.Text(d, "sku"), wire.Text(d, "version")}, ":")
}

func feedNIC(c *provider.Call, nic *provider.Resource, first bool) feed.NIC {
	p := wire.Props(nic.Body)
	out := feed.NIC{ID: nic.ID, Primary: first, SecurityGroup: feedGroup(c, p), Forwards: p["enableIPForwarding"] == true, MAC: strings.ToLower(strings.ReplaceAll(wire.Text(p, "macAddress"), "-", ":"))}
	for _, d := range wire.Docs(p, "ipConfigurations") {
		ip := wire.Props(d)
		if out.PrivateIP == "" || ip["primary"] == true {
			out.PrivateIP, out.SubnetID, out.PublicIP = wire.Text(ip, "privateIPAddress"), wire.Ref(ip, "subnet"), addressOf(c, wire.Ref(ip, "publicIPAddress"))
		}
	}
	out.NetworkID = networkOf(out.SubnetID)
	return out
}

func networkOf(subnet string) string {
	if i := strings.LastIndex(strings.ToLower(subnet), "/subnets/"); i > 0 {
		return subnet[:i]
	}
	return ""
}

// poolMembers lists the backends by the lower-cased id of their pool, or of their inbound NAT rule.
func poolMembers(c *provider.Call) map[string][]feed.Backend {
	out := map[string][]feed.Backend{}
	for _, nic := range c.Within("", network.TypeNIC) {
		for _, d := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
			ip := wire.Props(d)
			b := feed.Backend{NICID: nic.ID, PrivateIP: wire.Text(ip, "privateIPAddress"), NetworkID: networkOf(wire.Ref(ip, "subnet")),
				MachineID: wire.Ref(wire.Props(nic.Body), "virtualMachine")}
			for _, field := range []string{"loadBalancerBackendAddressPools", "loadBalancerInboundNatRules"} {
				for _, ref := range wire.Docs(ip, field) {
					k := provider.Key(wire.Text(ref, "id"))
					out[k] = append(out[k], b)
				}
			}
		}
	}
	return out
}

func feedBalancer(c *provider.Call, r *provider.Resource, members map[string][]feed.Backend) feed.LoadBalancer {
	p := wire.Props(r.Body)
	lb := feed.LoadBalancer{ID: r.ID, Name: r.Name, Frontends: []feed.Frontend{}, Rules: []feed.Rule{}, Pools: []feed.Pool{}, Probes: []feed.Probe{}}
	for _, d := range wire.Docs(p, "frontendIPConfigurations") {
		lb.Frontends = append(lb.Frontends, feedFrontend(c, d))
	}
	for _, d := range wire.Docs(p, "backendAddressPools") {
		lb.Pools = append(lb.Pools, feed.Pool{Name: wire.Text(d, "name"), Backends: orNone(members[provider.Key(wire.Text(d, "id"))])})
	}
	for _, d := range wire.Docs(p, "probes") {
		q := wire.Props(d)
		count := wire.Number(q, "probeThreshold")
		if count == 0 {
			count = wire.Number(q, "numberOfProbes")
		}
		lb.Probes = append(lb.Probes, feed.Probe{Name: wire.Text(d, "name"), Protocol: wire.Text(q, "protocol"), Port: port(q, "port"), Path: wire.Text(q, "requestPath"),
			IntervalSeconds: wire.Number(q, "intervalInSeconds"), NumberOfProbes: count})
	}
	for _, d := range wire.Docs(p, "loadBalancingRules") {
		q := wire.Props(d)
		pool := wire.Ref(q, "backendAddressPool")
		if pools := wire.Docs(q, "backendAddressPools"); pool == "" && len(pools) > 0 {
			pool = wire.Text(pools[0], "id")
		}
		lb.Rules = append(lb.Rules, feed.Rule{Name: wire.Text(d, "name"), Frontend: provider.LastSegment(wire.Ref(q, "frontendIPConfiguration")), Protocol: wire.Text(q, "protocol"),
			FrontendPort: port(q, "frontendPort"), BackendPort: port(q, "backendPort"), FloatingIP: q["enableFloatingIP"] == true,
			ProbeName: provider.LastSegment(wire.Ref(q, "probe")), Pool: provider.LastSegment(pool), Backends: orNone(members[provider.Key(pool)]),
			SNAT: q["disableOutboundSnat"] != true})
	}
	feedExtraRules(&lb, p, members)
	return lb
}

func feedExtraRules(lb *feed.LoadBalancer, p wire.Doc, members map[string][]feed.Backend) {
	for _, d := range wire.Docs(p, "inboundNatRules") {
		q := wire.Props(d)
		for _, b := range members[provider.Key(wire.Text(d, "id"))] {
			lb.NATRules = append(lb.NATRules, feed.NATRule{Name: wire.Text(d, "name"), Frontend: provider.LastSegment(wire.Ref(q, "frontendIPConfiguration")),
				Protocol: wire.Text(q, "protocol"), FrontendPort: port(q, "frontendPort"), BackendPort: port(q, "backendPort"), Backend: b})
		}
	}
	for _, d := range wire.Docs(p, "outboundRules") {
		q := wire.Props(d)
		o := feed.OutboundRule{Name: wire.Text(d, "name"), Protocol: wire.Text(q, "protocol"), Pool: provider.LastSegment(wire.Ref(q, "backendAddressPool"))}
		for _, f := range wire.Docs(q, "frontendIPConfigurations") {
			o.Frontends = append(o.Frontends, provider.LastSegment(wire.Text(f, "id")))
		}
		lb.OutboundRules = append(lb.OutboundRules, o)
	}
}

func feedFrontend(c *provider.Call, d wire.Doc) feed.Frontend {
	q := wire.Props(d)
	f := feed.Frontend{Name: wire.Text(d, "name"), IP: wire.Text(q, "privateIPAddress"), SubnetID: wire.Ref(q, "subnet")}
	if ip := addressOf(c, wire.Ref(q, "publicIPAddress")); ip != "" {
		f.IP, f.Public = ip, true
	}
	return f
}

func orNone(b []feed.Backend) []feed.Backend {
	if b == nil {
		return []feed.Backend{}
	}
	return b
}

// port accepts what some clients send as text.
func port(d wire.Doc, field string) int {
	if s := wire.Text(d, field); s != "" {
		n, _ := strconv.Atoi(s)
		return n
	}
	return wire.Number(d, field)
}

// ReportPower notes what the hypervisor says of a machine; one that is gone is ignored.
func ReportPower(s *store.Store, st feed.Status) error {
	known, same := false, false
	s.View(func(tx *store.Tx) {
		d := tx.Get(store.Power, provider.Key(st.ID))
		known = d != nil
		same = known && wire.Text(d, "reported") == st.PowerState && wire.Text(d, "message") == st.Message && (st.Console == "" || wire.Text(d, "console") == st.Console) &&
			(st.Provisioning == "" || wire.Text(d, "provisioning") == st.Provisioning && wire.Text(d, "provisioningMessage") == st.ProvisioningMessage)
	})
	if !known || same {
		return nil
	}
	return s.Update(func(tx *store.Tx) error {
		if d := tx.Edit(store.Power, provider.Key(st.ID)); d != nil {
			d["reported"], d["message"] = st.PowerState, st.Message
			if st.Console != "" {
				d["console"] = st.Console
			}
			if st.Provisioning != "" {
				d["provisioning"], d["provisioningMessage"] = st.Provisioning, st.ProvisioningMessage
			}
		}
		return nil
	})
}

// Console is the file with the console of a machine, known by its vmId; "" where no hypervisor has named one.
func Console(s *store.Store, vmID string) string {
	var file string
	s.View(func(tx *store.Tx) {
		c := &provider.Call{Tx: tx}
		for _, r := range c.Within("", compute.TypeVM) {
			if wire.Text(wire.Props(r.Body), "vmId") == vmID {
				file = wire.Text(tx.Get(store.Power, provider.Key(r.ID)), "console")
			}
		}
	})
	return file
}
