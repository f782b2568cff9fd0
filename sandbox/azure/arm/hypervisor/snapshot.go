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
		sub := feed.Subnet{ID: s.ID, Name: s.Name, Prefix: wire.Text(p, "addressPrefix")}
		if nsg := c.Get(wire.Ref(p, "networkSecurityGroup")); nsg != nil {
			sub.SecurityGroup = &feed.SecurityGroup{ID: nsg.ID, Rules: feedRules(c, nsg)}
		}
		n.Subnets = append(n.Subnets, sub)
	}
	return n
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
	m.Host = strings.EqualFold(m.Tags["sandbox-host"], "true")
	for i, n := range wire.Docs(wire.Sub(p, "networkProfile"), "networkInterfaces") {
		if nic := c.Get(wire.Text(n, "id")); nic != nil {
			m.NICs = append(m.NICs, feedNIC(nic, i == 0))
		}
	}
	return m
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

func feedNIC(nic *provider.Resource, first bool) feed.NIC {
	p := wire.Props(nic.Body)
	out := feed.NIC{ID: nic.ID, Primary: first, MAC: strings.ToLower(strings.ReplaceAll(wire.Text(p, "macAddress"), "-", ":"))}
	for _, d := range wire.Docs(p, "ipConfigurations") {
		ip := wire.Props(d)
		if out.PrivateIP == "" || ip["primary"] == true {
			out.PrivateIP, out.SubnetID = wire.Text(ip, "privateIPAddress"), wire.Ref(ip, "subnet")
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
			ProbeName: provider.LastSegment(wire.Ref(q, "probe")), Pool: provider.LastSegment(pool), Backends: orNone(members[provider.Key(pool)])})
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
		o := feed.OutboundRule{Name: wire.Text(d, "name"), Pool: provider.LastSegment(wire.Ref(q, "backendAddressPool"))}
		for _, f := range wire.Docs(q, "frontendIPConfigurations") {
			o.Frontends = append(o.Frontends, provider.LastSegment(wire.Text(f, "id")))
		}
		lb.OutboundRules = append(lb.OutboundRules, o)
	}
}

func feedFrontend(c *provider.Call, d wire.Doc) feed.Frontend {
	q := wire.Props(d)
	f := feed.Frontend{Name: wire.Text(d, "name"), IP: wire.Text(q, "privateIPAddress"), SubnetID: wire.Ref(q, "subnet")}
	if pip := c.Get(wire.Ref(q, "publicIPAddress")); pip != nil {
		f.IP, f.Public = wire.Text(wire.Props(pip.Body), "ipAddress"), true
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
		same = known && wire.Text(d, "reported") == st.PowerState && wire.Text(d, "message") == st.Message
	})
	if !known || same {
		return nil
	}
	return s.Update(func(tx *store.Tx) error {
		if d := tx.Edit(store.Power, provider.Key(st.ID)); d != nil {
			d["reported"], d["message"] = st.PowerState, st.Message
		}
		return nil
	})
}
