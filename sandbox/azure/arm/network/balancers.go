package network

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// TypeLoadBalancer is the resource type of load balancers.
const TypeLoadBalancer = "Microsoft.Network/loadBalancers"

var balancerKinds = []*provider.Kind{
	{Type: TypeLoadBalancer, Async: true, Name: commonName, Put: putBalancer, View: viewBalancer, Cleanup: leavePools,
		Keep:   []string{"resourceGuid"},
		Inline: []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes", "inboundNatRules", "inboundNatPools", "outboundRules"},
		Links: []provider.Link{{Field: "properties.frontendIPConfigurations.*.properties.subnet.id", Action: provider.JoinSubnet},
			{Field: "properties.frontendIPConfigurations.*.properties.publicIPAddress.id", Action: joinPublicIP}}},
}

func putBalancer(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	if r.Body["sku"] == nil {
		r.Body["sku"] = wire.Doc{"name": "Standard", "tier": "Regional"}
	}
	for _, field := range []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes", "inboundNatRules", "outboundRules", "inboundNatPools"} {
		wire.Default(p, field, []any{})
	}
	for _, d := range wire.Docs(p, "frontendIPConfigurations") {
		if err := putFrontend(c, r, old, d); err != nil {
			return err
		}
	}
	for _, d := range wire.Docs(p, "backendAddressPools") {
		dropDerived(d)
	}
	for _, d := range wire.Docs(p, "probes") {
		dropDerived(d)
	}
	for _, d := range wire.Docs(p, "loadBalancingRules") {
		for _, ref := range []string{"frontendIPConfiguration", "backendAddressPool", "probe"} {
			id := wire.Ref(wire.Props(d), ref)
			if id != "" && strings.HasPrefix(provider.Key(id), provider.Key(r.ID)+"/") && !hasInline(p, id) {
				return provider.MissingReference(id, r)
			}
		}
	}
	if err := checkBackends(p); err != nil {
		return err
	}
	return checkOutbound(p)
}

// checkBackends wants a port of a pool to serve one rule, where the pool does not see by which address a packet came.
func checkBackends(p wire.Doc) error {
	rules := wire.Docs(p, "loadBalancingRules")
	for i, a := range rules {
		for _, b := range rules[:i] {
			x, y := wire.Props(a), wire.Props(b)
			pool := wire.Ref(x, "backendAddressPool")
			same := pool != "" && strings.EqualFold(pool, wire.Ref(y, "backendAddressPool")) &&
				strings.EqualFold(wire.Text(x, "protocol"), wire.Text(y, "protocol")) &&
				wire.Number(x, "backendPort") == wire.Number(y, "backendPort")
			if same && x["enableFloatingIP"] != true && y["enableFloatingIP"] != true {
				return provider.BadRequest("RulesUseSameBackendPortProtocolAndPool",
					"Load balancing rules %s and %s with floating IP disabled use the same protocol %s and backend port %d, and must not be used with the "+
						"same backend address pool %s.",
					wire.Text(b, "id"), wire.Text(a, "id"), wire.Text(x, "protocol"), wire.Number(x, "backendPort"), pool)
			}
		}
	}
	return nil
}

// checkOutbound wants one rule to say how a frontend is used from the inside: a rule for what comes in does, unless it is told not to.
func checkOutbound(p wire.Doc) error {
	for _, out := range wire.Docs(p, "outboundRules") {
		q := wire.Props(out)
		for _, in := range wire.Docs(p, "loadBalancingRules") {
			rp := wire.Props(in)
			if rp["disableOutboundSnat"] == true || !strings.EqualFold(wire.Ref(rp, "backendAddressPool"), wire.Ref(q, "backendAddressPool")) {
				continue
			}
			for _, f := range wire.Docs(q, "frontendIPConfigurations") {
				if strings.EqualFold(wire.Text(f, "id"), wire.Ref(rp, "frontendIPConfiguration")) {
					return provider.BadRequest("LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferencedByOutboundRule",
						"SNAT must be disabled for load balancing rule %s since the same frontend IP configuration %s is referenced by outbound rule %s.", wire.Text(in, "id"), wire.Text(f, "id"), wire.Text(out, "id"))
				}
			}
		}
	}
	return nil
}

// dropDerived removes what viewBalancer adds and clients send back.
func dropDerived(d wire.Doc) {
	for _, field := range []string{"backendIPConfigurations", "loadBalancingRules", "inboundNatRules", "outboundRules"} {
		delete(wire.EnsureProps(d), field)
	}
}

func putFrontend(c *provider.Call, r *provider.Resource, old, d wire.Doc) error {
	fp := wire.EnsureProps(d)
	dropDerived(d)
	wire.Default(fp, "privateIPAllocationMethod", "Dynamic")
	if id := wire.Ref(fp, "publicIPAddress"); id != "" {
		if address := c.Get(id); address != nil && isStandard(address) != isStandard(r) {
			return provider.BadRequest("PublicIPAndLBSkuDoNotMatch", "%s sku load balancer %s cannot reference %s sku publicIP %s.", skuName(r), r.ID, skuName(address), address.ID)
		}
		return takePublicIP(c, r, wire.Text(d, "id"), id)
	}
	id := wire.Ref(fp, "subnet")
	subnet := c.Get(id)
	if subnet == nil {
		return provider.MissingReference(id, r)
	}
	for _, o := range wire.Docs(wire.Props(old), "frontendIPConfigurations") {
		if strings.EqualFold(wire.Text(o, "name"), wire.Text(d, "name")) && strings.EqualFold(wire.Ref(wire.Props(o), "subnet"), id) {
			wire.Default(fp, "privateIPAddress", wire.Props(o)["privateIPAddress"])
		}
	}
	wire.Default(fp, "privateIPAddressVersion", "IPv4")
	return placeIn(c, subnet, fp, wire.Text(d, "id"))
}

func skuName(r *provider.Resource) string {
	if isStandard(r) {
		return "Standard"
	}
	return "Basic"
}

func hasInline(props wire.Doc, id string) bool {
	for field := range props {
		for _, d := range wire.Docs(props, field) {
			if strings.EqualFold(wire.Text(d, "id"), id) {
				return true
			}
		}
	}
	return false
}

// leavePools removes a deleted balancer's pools from the NICs.
func leavePools(c *provider.Call, r *provider.Resource) {
	for _, nic := range c.Within("", TypeNIC) {
		if !refersTo(nic, r.ID) {
			continue
		}
		nic = c.Edit(nic.ID)
		for _, d := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
			for _, field := range []string{"loadBalancerBackendAddressPools", "loadBalancerInboundNatRules"} {
				var left []any
				for _, ref := range wire.Docs(wire.Props(d), field) {
					if !strings.HasPrefix(provider.Key(wire.Text(ref, "id")), provider.Key(r.ID)+"/") {
						left = append(left, ref)
					}
				}
				if left == nil {
					delete(wire.Props(d), field)
				} else {
					wire.Props(d)[field] = left
				}
			}
		}
	}
}

func refersTo(nic *provider.Resource, balancer string) bool {
	for _, d := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
		for _, field := range []string{"loadBalancerBackendAddressPools", "loadBalancerInboundNatRules"} {
			for _, ref := range wire.Docs(wire.Props(d), field) {
				if strings.HasPrefix(provider.Key(wire.Text(ref, "id")), provider.Key(balancer)+"/") {
					return true
				}
			}
		}
	}
	return false
}

// viewBalancer shows who is in the pools, and which rules use a frontend, pool or probe.
func viewBalancer(c *provider.Call, r *provider.Resource, d wire.Doc) {
	p := wire.EnsureProps(d)
	members := map[string][]any{}
	for _, nic := range c.Within("", TypeNIC) {
		for _, ip := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
			for _, ref := range wire.Docs(wire.Props(ip), "loadBalancerBackendAddressPools") {
				k := provider.Key(wire.Text(ref, "id"))
				members[k] = append(members[k], wire.Doc{"id": ip["id"]})
			}
		}
	}
	for _, pool := range wire.Docs(p, "backendAddressPools") {
		if m := members[provider.Key(wire.Text(pool, "id"))]; m != nil {
			wire.EnsureProps(pool)["backendIPConfigurations"] = m
		}
	}
	for _, rule := range wire.Docs(p, "loadBalancingRules") {
		for ref, field := range map[string]string{"frontendIPConfiguration": "frontendIPConfigurations", "backendAddressPool": "backendAddressPools", "probe": "probes"} {
			for _, target := range wire.Docs(p, field) {
				if strings.EqualFold(wire.Text(target, "id"), wire.Ref(wire.Props(rule), ref)) {
					tp := wire.EnsureProps(target)
					tp["loadBalancingRules"] = append(wire.List(tp, "loadBalancingRules"), wire.Doc{"id": rule["id"]})
				}
			}
		}
	}
}
