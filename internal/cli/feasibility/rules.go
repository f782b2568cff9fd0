package feasibility

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

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

// far are the addresses and service tags at the other end.
func (r securityRule) far() []string {
	p := r.Properties
	all, other := p.DestinationAddressPrefixes, p.DestinationAddressPrefix
	if strings.EqualFold(p.Direction, "Inbound") {
		all, other = p.SourceAddressPrefixes, p.SourceAddressPrefix
	}
	return slices.DeleteFunc(append(slices.Clone(all), other), func(text string) bool { return text == "" })
}

// concerns tells whether the rule is about TCP to a port in a direction.
func (r securityRule) concerns(direction string, port int) bool {
	p := r.Properties
	return strings.EqualFold(p.Direction, direction) && (strings.EqualFold(p.Protocol, "tcp") || p.Protocol == "*") && hasPort(append(slices.Clone(p.DestinationPortRanges), p.DestinationPortRange), port)
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

// groupRules reads a network security group and judges its rules.
func (e *examination) groupRules(ctx context.Context, id string) []preflight.Check {
	name := "network security group " + path.Base(id)
	group := struct {
		Properties struct{ SecurityRules, DefaultSecurityRules []securityRule }
	}{}
	if err := e.facts(ctx, id, &group); failure.IsNotFound(err) {
		return one(preflight.Verdict(name, preflight.Fail, false, "there is no "+id, "name one that is there by --network-security-group-id"))
	} else if err != nil {
		return unanswered(name, err)
	}
	var checks []preflight.Check
	rules := append(group.Properties.SecurityRules, group.Properties.DefaultSecurityRules...)
	slices.SortStableFunc(rules, func(a, b securityRule) int { return a.Properties.Priority - b.Properties.Priority })
	for _, n := range e.outbound() {
		checks = append(checks, e.out(name, rules, n))
	}
	in := judge(rules, "Inbound", 443)
	if in.denied && len(in.narrow) == 0 && in.by != "DenyAllInBound" {
		checks = append(checks, preflight.Verdict(name+": in to 443", preflight.Warn, false, "rule "+in.by+" denies it: nobody reaches the cluster's applications", "give that rule a later priority than 500, where the cloud provider's rules for load balancers begin"))
	} else if given := e.network().group; given != "" && !strings.EqualFold(given, id) && in.denied {
		checks = append(checks, preflight.Verdict(name+": in to 443", preflight.Warn, false, "the cloud provider writes its rules into "+path.Base(given)+", and the subnet has this one", "give the subnet's own by --network-security-group-id"))
	}
	return checks
}

// out is what the rules say of a port that machines have to reach.
func (e *examination) out(group string, rules []securityRule, n need) preflight.Check {
	row := fmt.Sprintf("%s: out to %d", group, n.port)
	found := judge(rules, "Outbound", n.port)
	switch {
	case found.denied && len(found.narrow) == 0:
		return preflight.Verdict(row, preflight.Fail, false, fmt.Sprintf("rule %s denies it, and machines need it for: %s", found.by, n.what), fmt.Sprintf("allow outbound TCP %d with a priority before that rule", n.port))
	case found.denied:
		return preflight.Verdict(row, preflight.Warn, false, fmt.Sprintf("only to what %s allow, then rule %s denies it; machines need it for: %s", strings.Join(found.narrow, ", "), found.by, n.what), "see to it that these addresses are among what is allowed")
	}
	bad, detail := preflight.Warn, []string{}
	for _, c := range found.cuts {
		use, sure := "some of "+n.what+" may be there", false
		if !c.addresses {
			if use, sure = useOf(c.far, e.Infra.Location, n.port); use == "" {
				continue
			}
			use = "machines need of it: " + use
		}
		if sure {
			bad = preflight.Fail
		}
		detail = append(detail, fmt.Sprintf("rule %s denies it to %s, and %s", c.by, c.far, use))
	}
	if len(detail) == 0 {
		return preflight.Verdict(row, preflight.Fail, true, "is allowed by "+found.by, "")
	}
	return preflight.Verdict(row, bad, false, strings.Join(detail, "; "), fmt.Sprintf("allow outbound TCP %d to what machines need there with a priority before that rule, or delete it", n.port))
}

// judgement is what rules say of a port.
type judgement struct {
	// by is the rule that decides for all addresses that no earlier one names; denied is what it decides.
	by     string
	denied bool
	// narrow are rules before it that allow some addresses, cuts what rules before it deny.
	narrow []string
	cuts   []cut
}

// cut is what a rule denies a part of the Internet by: addresses or a service tag.
type cut struct {
	by, far   string
	addresses bool
}

// judge follows the rules in their order, as Azure does, for TCP to a port anywhere.
func judge(rules []securityRule, direction string, port int) judgement {
	var j judgement
	var allowed, denied []netip.Prefix
	var tags []string // that rules have allowed so far, in lower case
	for _, rule := range rules {
		if !rule.concerns(direction, port) {
			continue
		}
		far, allows := rule.far(), strings.EqualFold(rule.Properties.Access, "allow")
		added := prefixesOf(far)
		if !allows {
			j.cuts = append(j.cuts, cutsOf(rule.Name, far, allowed, tags)...)
			denied = append(denied, added...)
		}
		if covered(everywhere, added) || covered(everywhere, slices.Concat(allowed, denied, added)) {
			j.by, j.denied = rule.Name, !allows
			return j
		}
		if allows {
			allowed = append(allowed, added...)
			for _, text := range far {
				tags = append(tags, strings.ToLower(text))
			}
			if rule.Properties.Priority < 65000 { // Azure's own rules come later
				j.narrow = append(j.narrow, rule.Name)
			}
		}
	}
	j.denied = true
	return j
}

// cutsOf are the parts of the Internet that a rule denies, and that no earlier one allows.
func cutsOf(rule string, far []string, allowed []netip.Prefix, tags []string) []cut {
	var all []cut
	for _, text := range far {
		prefixes := prefixesOf([]string{text})
		switch {
		case slices.Contains(tags, strings.ToLower(text)):
		case len(prefixes) == 0:
			all = append(all, cut{by: rule, far: text})
		case !covered(prefixes[0], allowed):
			all = append(all, cut{by: rule, far: text, addresses: true})
		}
	}
	return all
}
