package feasibility

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
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

// securityRule is a rule of a network security group as the wire has it.
type securityRule struct {
	Name       string
	Properties struct {
		Access, Direction, Protocol                       string
		Priority                                          int
		DestinationPortRange, DestinationAddressPrefix    string
		DestinationPortRanges, DestinationAddressPrefixes []string
		SourceAddressPrefix                               string
		SourceAddressPrefixes                             []string
	}
}

// subnet is the user's own: its room, what it is kept for, the rules of its network security groups, its routes.
func (e *examination) subnet(ctx context.Context) []preflight.Check {
	const name = "subnet"
	if e.Infra.SubnetID == "" || e.Output != nil {
		return one(preflight.Verdict(name, preflight.Fail, true, "it is made with the network: nothing blocks it", ""))
	}
	found := subnetFacts{}
	if err := e.facts(ctx, e.Infra.SubnetID, &found); failure.IsNotFound(err) {
		return one(preflight.Verdict(name, preflight.Fail, false, "there is no "+e.Infra.SubnetID, "name one that is there by --subnet-id"))
	} else if err != nil {
		return unanswered(name, err)
	}
	p := found.Properties
	checks := e.room(found)
	if len(p.Delegations) > 0 {
		checks = append(checks, preflight.Verdict("delegation of the subnet", preflight.Fail, false, "it is kept for "+p.Delegations[0].Properties.ServiceName+", and takes no virtual machines", "name another one by --subnet-id"))
	}
	if p.RouteTable != nil {
		checks = append(checks, e.routes(ctx, p.RouteTable.ID)...)
	}
	return append(checks, e.groupsOf(ctx, found)...)
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

func (e *examination) room(found subnetFacts) []preflight.Check {
	p := found.Properties
	free := -len(p.IPConfigurations)
	for _, text := range append(slices.Clone(p.AddressPrefixes), p.AddressPrefix) {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			free += 1<<(32-prefix.Bits()) - reserved
		}
	}
	wanted := e.Machines.Count + e.Machines.Pools
	return one(preflight.Verdict("room in the subnet", preflight.Fail, free >= wanted, fmt.Sprintf("%d addresses are free, %d are needed with one more for each pool that is upgraded", free, wanted), "name a larger subnet by --subnet-id, or take fewer machines"))
}

// routes that lead elsewhere than to the internet.
func (e *examination) routes(ctx context.Context, id string) []preflight.Check {
	name := "route table " + path.Base(id)
	table := struct {
		Properties struct {
			Routes []struct {
				Name       string
				Properties struct{ AddressPrefix, NextHopType, NextHopIPAddress string }
			}
		}
	}{}
	if err := e.facts(ctx, id, &table); err != nil {
		return unanswered(name, err)
	}
	for _, route := range table.Properties.Routes {
		p := route.Properties
		if p.AddressPrefix != "0.0.0.0/0" {
			continue
		}
		detail := fmt.Sprintf("route %s leads all that leaves to %s", route.Name, strings.TrimSpace(p.NextHopType+" "+p.NextHopIPAddress))
		switch p.NextHopType {
		case "None":
			return one(preflight.Verdict(name, preflight.Fail, false, detail+": machines reach neither their control plane nor Azure", "delete that route, or have it lead somewhere"))
		case "VirtualAppliance", "VirtualNetworkGateway":
			return one(preflight.Verdict(name, preflight.Warn, false, detail, "see to it that what stands there lets TCP "+portsOf(e.outbound())+" through to the control plane, registries and Azure"))
		}
	}
	return one(preflight.Verdict(name, preflight.Warn, true, "leads nothing astray", ""))
}

// need is a port that machines have to reach, and why.
type need struct {
	port int
	what string
}

// outbound are the ports of the control plane's endpoints, by how they are published.
func (e *examination) outbound() []need {
	https := need{443, "ignition, images, Azure"}
	if e.ExternalDNSDomain != "" {
		https.what = "API server, konnectivity, ignition, images, Azure"
		return []need{https}
	}
	return []need{{publish.APIServerPort, "API server"}, https, {publish.KonnectivityPort, "konnectivity"}}
}

func portsOf(needs []need) string {
	var all []string
	for _, n := range needs {
		all = append(all, strconv.Itoa(n.port))
	}
	return strings.Join(all, ", ")
}

// groupsOf are the subnet's network security group and the one that the cloud provider will write.
func (e *examination) groupsOf(ctx context.Context, found subnetFacts) []preflight.Check {
	of := ""
	if group := found.Properties.NetworkSecurityGroup; group != nil {
		of = group.ID
	}
	if of == "" {
		return one(preflight.Verdict("network security group of the subnet", preflight.Warn, false, "the subnet has none: a load balancer of the Standard kind lets nothing in without one that allows it",
			"`az network vnet subnet update --ids SUBNET-ID --network-security-group NSG-ID` with that of --network-security-group-id"))
	}
	name := "network security group " + path.Base(of)
	group := struct {
		Properties struct{ SecurityRules, DefaultSecurityRules []securityRule }
	}{}
	if err := e.facts(ctx, of, &group); err != nil {
		return unanswered(name, err)
	}
	var checks []preflight.Check
	rules := append(group.Properties.SecurityRules, group.Properties.DefaultSecurityRules...)
	slices.SortStableFunc(rules, func(a, b securityRule) int { return a.Properties.Priority - b.Properties.Priority })
	for _, n := range e.outbound() {
		by, blocked, narrow := judge(rules, "Outbound", n.port)
		row := fmt.Sprintf("%s: out to %d", name, n.port)
		switch {
		case blocked && len(narrow) == 0:
			checks = append(checks, preflight.Verdict(row, preflight.Fail, false, fmt.Sprintf("rule %s denies it, and machines need it for: %s", by, n.what), fmt.Sprintf("allow outbound TCP %d with a priority before that rule", n.port)))
		case blocked:
			checks = append(checks, preflight.Verdict(row, preflight.Warn, false, fmt.Sprintf("only to what %s allow, then rule %s denies it; machines need it for: %s", strings.Join(narrow, ", "), by, n.what), "see to it that these addresses are among what is allowed"))
		default:
			checks = append(checks, preflight.Verdict(row, preflight.Fail, true, "is allowed by "+by, ""))
		}
	}
	if by, blocked, narrow := judge(rules, "Inbound", 443); blocked && len(narrow) == 0 && by != "DenyAllInBound" {
		checks = append(checks, preflight.Verdict(name+": in to 443", preflight.Warn, false, "rule "+by+" denies it: nobody reaches the cluster's applications", "give that rule a later priority than 500, where the cloud provider's rules for load balancers begin"))
	} else if given := e.Infra.NSGID; given != "" && !strings.EqualFold(given, of) && blocked {
		checks = append(checks, preflight.Verdict(name+": in to 443", preflight.Warn, false, "the cloud provider writes its rules into "+path.Base(given)+", and the subnet has this one", "give the subnet's own by --network-security-group-id"))
	}
	return checks
}

// judge follows the rules in their order, as Azure does, for TCP to a port anywhere: the rule that decides for any address, whether it denies, and
// the rules before it that allow some addresses.
func judge(rules []securityRule, direction string, port int) (by string, denied bool, narrow []string) {
	for _, rule := range rules {
		p := rule.Properties
		if !strings.EqualFold(p.Direction, direction) || !strings.EqualFold(p.Protocol, "tcp") && p.Protocol != "*" || !hasPort(append(p.DestinationPortRanges, p.DestinationPortRange), port) {
			continue
		}
		far := append(p.DestinationAddressPrefixes, p.DestinationAddressPrefix)
		if direction == "Inbound" {
			far = append(p.SourceAddressPrefixes, p.SourceAddressPrefix)
		}
		anywhere := slices.ContainsFunc(far, func(prefix string) bool {
			return prefix == "*" || prefix == "0.0.0.0/0" || strings.EqualFold(prefix, "Internet")
		})
		allows := strings.EqualFold(p.Access, "allow")
		switch {
		case anywhere:
			return rule.Name, !allows, narrow
		case allows && p.Priority < 65000: // Azure's own rules come later
			narrow = append(narrow, rule.Name)
		}
	}
	return "", true, narrow
}

func hasPort(ranges []string, port int) bool {
	return slices.ContainsFunc(ranges, func(text string) bool {
		low, high, isRange := strings.Cut(text, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		return text == "*" || err1 == nil && err2 == nil && from <= port && port <= to
	})
}
