package network

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func putNIC(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	configs := wire.Docs(p, "ipConfigurations")
	if len(configs) == 0 {
		return provider.BadRequest("InvalidRequestFormat", "Network interface '%s' has no IP configuration.", r.Name)
	}
	if id := wire.Ref(p, "networkSecurityGroup"); id != "" && c.Get(id) == nil {
		return provider.MissingReference(id, r)
	}
	for i, d := range configs {
		ip := wire.EnsureProps(d)
		subnet := c.Get(wire.Ref(ip, "subnet"))
		if subnet == nil {
			return provider.MissingReference(wire.Ref(ip, "subnet"), r)
		}
		if vnet := c.Get(provider.SegmentsBefore(subnet.ID, "/subnets/")); vnet != nil && wire.Text(vnet.Body, "location") != wire.Text(r.Body, "location") {
			return provider.MissingReference(subnet.ID, r)
		}
		if id := wire.Ref(ip, "publicIPAddress"); id != "" {
			if err := takePublicIP(c, r, wire.Text(d, "id"), id); err != nil {
				return err
			}
		}
		for _, pool := range wire.Docs(ip, "loadBalancerBackendAddressPools") {
			if pp, err := provider.ParsePath(wire.Text(pool, "id")); err != nil || c.InlineChild(pp) == nil {
				return provider.MissingReference(wire.Text(pool, "id"), r)
			}
		}
		keepAddress(old, d)
		if err := placeIn(c, subnet, ip, wire.Text(d, "id")); err != nil {
			return err
		}
		wire.Default(ip, "primary", i == 0)
		wire.Default(ip, "privateIPAllocationMethod", "Dynamic")
		wire.Default(ip, "privateIPAddressVersion", "IPv4") // the cloud-controller-manager dereferences it
	}
	wire.Default(p, "macAddress", macOf(r.ID))
	wire.Default(p, "enableIPForwarding", false)
	wire.Default(p, "enableAcceleratedNetworking", false)
	return nil
}

// keepAddress leaves a dynamic address as it is when a PUT does not repeat it.
func keepAddress(old, config wire.Doc) {
	ip := wire.EnsureProps(config)
	if wire.Text(ip, "privateIPAddress") != "" {
		return
	}
	for _, o := range wire.Docs(wire.Props(old), "ipConfigurations") {
		op := wire.Props(o)
		if strings.EqualFold(wire.Text(o, "name"), wire.Text(config, "name")) && strings.EqualFold(wire.Ref(op, "subnet"), wire.Ref(ip, "subnet")) {
			ip["privateIPAddress"] = op["privateIPAddress"]
		}
	}
}

// macOf derives a stable address in Microsoft's range.
func macOf(id string) string {
	h := fnv.New32a()
	h.Write([]byte(provider.Key(id)))
	n := h.Sum32()
	return fmt.Sprintf("00-0D-3A-%02X-%02X-%02X", byte(n>>16), byte(n>>8), byte(n))
}

func guardNIC(c *provider.Call, r *provider.Resource) error {
	if vm := wire.Ref(wire.Props(r.Body), "virtualMachine"); vm != "" && c.Get(vm) != nil {
		return provider.BadRequest("NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.", r.ID, vm)
	}
	return nil
}
