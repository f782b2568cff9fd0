package feasibility

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// subnetFacts are what decides whether machines in a subnet reach the world and are reached.
type subnetFacts struct {
	Properties struct {
		AddressPrefix        string
		AddressPrefixes      []string
		NetworkSecurityGroup *struct{ ID string }
		RouteTable           *struct{ ID string }
		Delegations          []struct{ Properties struct{ ServiceName string } }
		IPConfigurations     []struct{ ID string }
	}
}

// network are the ids of the one that the cluster takes, "" for what is to be made.
type network struct{ vnet, subnet, group string }

// network is that of infrastructure which is there, or what the user brings.
func (e *examination) network() network {
	if o := e.Output; o != nil {
		return network{o.VNetID, o.SubnetID, o.SecurityGroupID}
	}
	return network{e.Infra.VNetID, e.Infra.SubnetID, e.Infra.NSGID}
}

// subnet is the cluster's: its room, what it is kept for, the rules of its network security group, its routes.
func (e *examination) subnet(ctx context.Context) []preflight.Check {
	const name = "subnet"
	n := e.network()
	switch {
	case n.subnet == "" && e.Output != nil:
		return one(preflight.Skipped(name, "the infrastructure names none", "give the file that `hypershift create infra azure` wrote"))
	case n.subnet == "" && n.group != "":
		return append(one(preflight.Verdict(name, preflight.Fail, true, "it is made with the network, and takes "+n.group, "")), e.groupRules(ctx, n.group)...)
	case n.subnet == "":
		return one(preflight.Verdict(name, preflight.Fail, true, "it is made with the network, whose rules are its own", ""))
	}
	wanted := 0
	if !e.poolsElsewhere() {
		wanted = e.Machines.Count + e.Machines.Pools
	}
	return e.subnetAt(ctx, n.subnet, "--subnet-id", wanted)
}

// poolSubnet is the node pools' own, where it is another than the cluster's.
func (e *examination) poolSubnet(ctx context.Context) []preflight.Check {
	if !e.poolsElsewhere() {
		return nil
	}
	return e.subnetAt(ctx, e.Machines.Subnet, "--nodepool-subnet-id", e.Machines.Count+e.Machines.Pools)
}

func (e *examination) poolsElsewhere() bool {
	return e.Machines.Subnet != "" && !strings.EqualFold(e.Machines.Subnet, e.network().subnet)
}

// subnetAt looks at one that is there, which a flag names and in which so many addresses are wanted.
func (e *examination) subnetAt(ctx context.Context, id, flag string, wanted int) []preflight.Check {
	name, of := "subnet", ""
	if flag != "--subnet-id" {
		name, of = "subnet of the node pools", " of the node pools"
	}
	found := subnetFacts{}
	if err := e.facts(ctx, id, &found); failure.IsNotFound(err) {
		return one(preflight.Verdict(name, preflight.Fail, false, "there is no "+id, "name one that is there by "+flag))
	} else if err != nil {
		return unanswered(name, err)
	}
	p := found.Properties
	checks := []preflight.Check{preflight.Verdict(name, preflight.Fail, true, id, ""), room(name, flag, found, wanted)}
	if len(p.Delegations) > 0 {
		checks = append(checks, preflight.Verdict("delegation of the subnet"+of, preflight.Fail, false, "it is kept for "+p.Delegations[0].Properties.ServiceName+", and takes no virtual machines", "name another one by "+flag))
	}
	if p.RouteTable != nil {
		checks = append(checks, e.routes(ctx, p.RouteTable.ID)...)
	}
	return append(checks, e.groupsOf(ctx, name, found)...)
}

// facts reads a resource of the network into a shape of ours.
func (e *examination) facts(ctx context.Context, id string, into any) error {
	r, err := e.s.Get(ctx, id, node.APINetwork)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// reserved are the addresses of a subnet that Azure keeps.
const reserved = 5

func room(subnet, flag string, found subnetFacts, wanted int) preflight.Check {
	p := found.Properties
	free := -len(p.IPConfigurations)
	for _, text := range append(slices.Clone(p.AddressPrefixes), p.AddressPrefix) {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			free += 1<<(32-prefix.Bits()) - reserved
		}
	}
	return preflight.Verdict("room in the "+subnet, preflight.Fail, free >= wanted, fmt.Sprintf("%d addresses are free, %d are needed with one more for each pool that is upgraded", free, wanted), "name a larger subnet by "+flag+", or take fewer machines")
}

// groupsOf are the subnet's network security group and the one that the cloud provider will write.
func (e *examination) groupsOf(ctx context.Context, subnet string, found subnetFacts) []preflight.Check {
	group := found.Properties.NetworkSecurityGroup
	if group == nil || group.ID == "" {
		return one(preflight.Verdict("network security group of the "+subnet, preflight.Warn, false, "the subnet has none: a load balancer of the Standard kind lets nothing in without one that allows it",
			"`az network vnet subnet update --ids SUBNET-ID --network-security-group NSG-ID` with that of --network-security-group-id"))
	}
	return e.groupRules(ctx, group.ID)
}
