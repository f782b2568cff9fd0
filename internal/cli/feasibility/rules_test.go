package feasibility

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

func rule(access, far string, priority int) securityRule {
	r := securityRule{Name: access + far}
	p := &r.Properties
	p.Access, p.Direction, p.Protocol, p.Priority, p.DestinationPortRange, p.DestinationAddressPrefix = access, "Outbound", "*", priority, "*", far
	return r
}

// A rule that denies a part of the Internet, by addresses or by a service tag, never passes.
func TestRulesThatDenyAPart(t *testing.T) {
	for _, tc := range []struct {
		first []securityRule
		want  preflight.Status
	}{
		{nil, preflight.Pass},
		{[]securityRule{rule("Deny", "AzureCloud", 100)}, preflight.Fail},
		{[]securityRule{rule("Deny", "AzureCloud.EastUS", 100)}, preflight.Warn},
		{[]securityRule{rule("Deny", "Storage.EastUS", 100)}, preflight.Warn},
		{[]securityRule{rule("Deny", "Storage.WestUS", 100)}, preflight.Pass},
		{[]securityRule{rule("Deny", "Sql", 100)}, preflight.Pass},
		{[]securityRule{rule("Allow", "Storage", 90), rule("Deny", "Storage", 100)}, preflight.Pass},
		{[]securityRule{rule("Deny", "20.0.0.0/8", 100)}, preflight.Warn},
		{[]securityRule{rule("Deny", "10.0.0.0/8", 100)}, preflight.Pass},
		{[]securityRule{rule("Deny", "0.0.0.0/1", 100), rule("Deny", "128.0.0.0/1", 101)}, preflight.Fail},
	} {
		e := &examination{Options: Options{Infra: infra.Options{Location: "eastus"}}}
		if got := e.out("group", append(tc.first, rule("Allow", "Internet", 65001)), need{443, "Azure"}); got.Status != tc.want {
			t.Errorf("%+v: %+v, want %s", tc.first, got, tc.want)
		}
	}
}

// Routes are followed by their longest prefix.
func TestFollow(t *testing.T) {
	to := func(prefix, hop string) route {
		r := route{Name: prefix}
		r.Properties.AddressPrefix, r.Properties.NextHopType = prefix, hop
		return r
	}
	for _, tc := range []struct {
		routes       []route
		lost, astray int
		all          bool
	}{
		{nil, 0, 0, false},
		{[]route{to("0.0.0.0/1", nowhere), to("128.0.0.0/1", nowhere)}, 2, 0, true},
		{[]route{to("0.0.0.0/0", nowhere), to("20.0.0.0/8", "Internet")}, 1, 0, false},
		{[]route{to("0.0.0.0/1", nowhere)}, 1, 0, false},
		{[]route{to("10.0.0.0/8", nowhere)}, 0, 0, false},
		{[]route{to("0.0.0.0/0", "VirtualAppliance")}, 0, 1, false},
	} {
		if lost, astray, all := follow(tc.routes); len(lost) != tc.lost || len(astray) != tc.astray || all != tc.all {
			t.Errorf("%+v: %+v, %+v, %t", tc.routes, lost, astray, all)
		}
	}
}
