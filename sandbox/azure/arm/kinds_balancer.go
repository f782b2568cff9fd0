package arm

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const typeLoadBalancer = "Microsoft.Network/loadBalancers"

var balancerKinds = []*Kind{
	{Type: typeLoadBalancer, async: true, put: putBalancer, guard: guardBalancer, view: viewBalancer, cleanup: leavePools,
		keep:   []string{"resourceGuid"},
		inline: []string{"frontendIPConfigurations", "backendAddressPools", "loadBalancingRules", "probes", "inboundNatRules", "inboundNatPools", "outboundRules"}},
}

func putBalancer(c *call, r *Resource, old Doc) error {
	p := wire.EnsureProps(r.Body)
	if r.Body["sku"] == nil {
		r.Body["sku"] = Doc{"name": "Standard", "tier": "Regional"}
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
			if id != "" && strings.HasPrefix(key(id), key(r.ID)+"/") && !hasInline(p, id) {
				return missingReference(id, r)
			}
		}
	}
	return checkOutbound(p)
}

// checkOutbound wants one rule to say how a frontend is used from the inside: a rule for what comes in does, unless it is told not to.
func checkOutbound(p Doc) error {
	for _, out := range wire.Docs(p, "outboundRules") {
		q := wire.Props(out)
		for _, in := range wire.Docs(p, "loadBalancingRules") {
			rp := wire.Props(in)
			if rp["disableOutboundSnat"] == true || !strings.EqualFold(wire.Ref(rp, "backendAddressPool"), wire.Ref(q, "backendAddressPool")) {
				continue
			}
			for _, f := range wire.Docs(q, "frontendIPConfigurations") {
				if strings.EqualFold(wire.Text(f, "id"), wire.Ref(rp, "frontendIPConfiguration")) {
					return badRequest("LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferencedByOutboundRule",
						"SNAT must be disabled for load balancing rule %s since the same frontend IP configuration %s is referenced by outbound rule %s.", wire.Text(in, "id"), wire.Text(f, "id"), wire.Text(out, "id"))
				}
			}
		}
	}
	return nil
}

// dropDerived removes what viewBalancer adds and clients send back.
func dropDerived(d Doc) {
	for _, field := range []string{"backendIPConfigurations", "loadBalancingRules", "inboundNatRules", "outboundRules"} {
		delete(wire.EnsureProps(d), field)
	}
}

func putFrontend(c *call, r *Resource, old, d Doc) error {
	fp := wire.EnsureProps(d)
	dropDerived(d)
	wire.Default(fp, "privateIPAllocationMethod", "Dynamic")
	if id := wire.Ref(fp, "publicIPAddress"); id != "" {
		return c.takePublicIP(r, wire.Text(d, "id"), id)
	}
	id := wire.Ref(fp, "subnet")
	subnet := c.get(id)
	if subnet == nil {
		return missingReference(id, r)
	}
	for _, o := range wire.Docs(wire.Props(old), "frontendIPConfigurations") {
		if strings.EqualFold(wire.Text(o, "name"), wire.Text(d, "name")) && strings.EqualFold(wire.Ref(wire.Props(o), "subnet"), id) {
			wire.Default(fp, "privateIPAddress", wire.Props(o)["privateIPAddress"])
		}
	}
	wire.Default(fp, "privateIPAddressVersion", "IPv4")
	return c.placeIn(subnet, fp, wire.Text(d, "id"))
}

func hasInline(props Doc, id string) bool {
	for field := range props {
		for _, d := range wire.Docs(props, field) {
			if strings.EqualFold(wire.Text(d, "id"), id) {
				return true
			}
		}
	}
	return false
}

func guardBalancer(c *call, r *Resource) error {
	for _, pls := range c.within("", "Microsoft.Network/privateLinkServices") {
		for _, f := range wire.Docs(wire.Props(pls.Body), "loadBalancerFrontendIpConfigurations") {
			if strings.HasPrefix(key(wire.Text(f, "id")), key(r.ID)+"/") {
				return badRequest("LoadBalancerInUseByPrivateLinkService", "Load balancer %s is used by private link service %s.", r.ID, pls.ID)
			}
		}
	}
	return nil
}

// leavePools removes a deleted balancer's pools from the NICs.
func leavePools(c *call, r *Resource) {
	for _, nic := range c.within("", typeNIC) {
		if !refersTo(nic, r.ID) {
			continue
		}
		nic = c.edit(nic.ID)
		for _, d := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
			for _, field := range []string{"loadBalancerBackendAddressPools", "loadBalancerInboundNatRules"} {
				var left []any
				for _, ref := range wire.Docs(wire.Props(d), field) {
					if !strings.HasPrefix(key(wire.Text(ref, "id")), key(r.ID)+"/") {
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

func refersTo(nic *Resource, balancer string) bool {
	for _, d := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
		for _, field := range []string{"loadBalancerBackendAddressPools", "loadBalancerInboundNatRules"} {
			for _, ref := range wire.Docs(wire.Props(d), field) {
				if strings.HasPrefix(key(wire.Text(ref, "id")), key(balancer)+"/") {
					return true
				}
			}
		}
	}
	return false
}

// viewBalancer shows who is in the pools, and which rules use a frontend, pool or probe.
func viewBalancer(c *call, r *Resource, d Doc) {
	p := wire.EnsureProps(d)
	members := map[string][]any{}
	for _, nic := range c.within("", typeNIC) {
		for _, ip := range wire.Docs(wire.Props(nic.Body), "ipConfigurations") {
			for _, ref := range wire.Docs(wire.Props(ip), "loadBalancerBackendAddressPools") {
				k := key(wire.Text(ref, "id"))
				members[k] = append(members[k], Doc{"id": ip["id"]})
			}
		}
	}
	for _, pool := range wire.Docs(p, "backendAddressPools") {
		if m := members[key(wire.Text(pool, "id"))]; m != nil {
			wire.EnsureProps(pool)["backendIPConfigurations"] = m
		}
	}
	for _, rule := range wire.Docs(p, "loadBalancingRules") {
		for ref, field := range map[string]string{"frontendIPConfiguration": "frontendIPConfigurations", "backendAddressPool": "backendAddressPools", "probe": "probes"} {
			for _, target := range wire.Docs(p, field) {
				if strings.EqualFold(wire.Text(target, "id"), wire.Ref(wire.Props(rule), ref)) {
					tp := wire.EnsureProps(target)
					tp["loadBalancingRules"] = append(wire.List(tp, "loadBalancingRules"), Doc{"id": rule["id"]})
				}
			}
		}
	}
}
