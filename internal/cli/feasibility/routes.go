package feasibility

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

// route is one of a route table as the wire has it.
type route struct {
	Name       string
	Properties struct{ AddressPrefix, NextHopType, NextHopIPAddress string }
}

// to is where the route leads.
func (r route) to() string {
	return strings.TrimSpace(r.Properties.NextHopType + " " + r.Properties.NextHopIPAddress)
}

// nowhere is the next hop that drops what is sent to it.
const nowhere = "None"

// routes that lead elsewhere than to the internet.
func (e *examination) routes(ctx context.Context, id string) []preflight.Check {
	name := "route table " + path.Base(id)
	table := struct{ Properties struct{ Routes []route } }{}
	if err := e.facts(ctx, id, &table); err != nil {
		return unanswered(name, err)
	}
	const cut = "delete that route, or have it lead somewhere"
	lost, astray, all := follow(table.Properties.Routes)
	switch {
	case len(lost) > 0 && all:
		return one(preflight.Verdict(name, preflight.Fail, false, told(lost)+" all that leaves to None: machines reach neither their control plane nor Azure", cut))
	case len(lost) > 0:
		return one(preflight.Verdict(name, preflight.Warn, false, told(lost)+" "+prefixesTold(lost)+" to None, and the control plane, registries or Azure may be there", cut))
	}
	if tagged := e.lostTags(table.Properties.Routes); len(tagged) > 0 {
		use, sure := useOf(tagged[0].Properties.AddressPrefix, e.Infra.Location, 443)
		bad := preflight.Warn
		if sure {
			bad = preflight.Fail
		}
		return one(preflight.Verdict(name, bad, false, told(tagged)+" "+prefixesTold(tagged)+" to None; machines need of it: "+use, cut))
	}
	if len(astray) > 0 {
		what := prefixesTold(astray)
		if covered(everywhere, prefixesOf(prefixes(astray))) {
			what = "all that leaves"
		}
		return one(preflight.Verdict(name, preflight.Warn, false, told(astray)+" "+what+" to "+astray[0].to(), "see to it that what stands there lets TCP "+portsOf(e.outbound())+" through to the control plane, registries and Azure"))
	}
	return one(preflight.Verdict(name, preflight.Warn, true, "leads nothing astray", ""))
}

// lostTags are the routes that drop what is sent to a service tag that machines need.
func (e *examination) lostTags(routes []route) []route {
	return slices.DeleteFunc(slices.Clone(routes), func(r route) bool {
		use, _ := useOf(r.Properties.AddressPrefix, e.Infra.Location, 443)
		return use == "" || r.Properties.NextHopType != nowhere
	})
}

// told names routes as the subject of what they do.
func told(routes []route) string {
	names := make([]string, len(routes))
	for i, r := range routes {
		names[i] = r.Name
	}
	if len(names) == 1 {
		return fmt.Sprintf("route %s leads", names[0])
	}
	return fmt.Sprintf("routes %s lead", strings.Join(names, ", "))
}

func prefixes(routes []route) []string {
	all := make([]string, len(routes))
	for i, r := range routes {
		all[i] = r.Properties.AddressPrefix
	}
	return all
}

func prefixesTold(routes []route) string { return strings.Join(prefixes(routes), ", ") }

// follow sends a packet to every public address, each by the longest prefix as Azure does: the routes that drop some, those that lead some to an
// appliance or a gateway, and whether all are dropped.
func follow(routes []route) (lost, astray []route, all bool) {
	all = true
	walk(everywhere, -1, routes, func(i int) {
		hop := ""
		if i >= 0 {
			hop = routes[i].Properties.NextHopType
		}
		all = all && hop == nowhere
		switch {
		case hop == nowhere && !slices.Contains(lost, routes[i]):
			lost = append(lost, routes[i])
		case (hop == "VirtualAppliance" || hop == "VirtualNetworkGateway") && !slices.Contains(astray, routes[i]):
			astray = append(astray, routes[i])
		}
	})
	return lost, astray, all
}

// walk visits the route, by its index, of each part of a prefix that has public addresses; -1 is Azure's own route to the Internet.
func walk(of netip.Prefix, by int, routes []route, visit func(int)) {
	within := false
	for i, r := range routes {
		for _, prefix := range prefixesOf([]string{r.Properties.AddressPrefix}) {
			if prefix == of {
				by = i
			}
			within = within || prefix.Bits() > of.Bits() && of.Overlaps(prefix)
		}
	}
	switch {
	case covered(of, nil):
	case !within:
		visit(by)
	default:
		low, high := halves(of)
		walk(low, by, routes, visit)
		walk(high, by, routes, visit)
	}
}
