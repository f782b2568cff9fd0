package stacks_test

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// The outbound rule lets a thousand machines out: a fixed number of ports for each would keep the next machine from being made once the
// 64,000 ports of the address are given away.
func TestAThousandMachinesReachTheWorld(t *testing.T) {
	w := newWorld(t)
	of := infraStack(nil, infra.DestroyOptions{})
	_, err := w.process(0, false, of.prepare)
	must(t, err)
	_, err = w.process(0, false, of.create)
	must(t, err)
	s := w.session(w.transport)
	balancer, err := s.Get(t.Context(), s.ResourceID("demo-demo-x", "Microsoft.Network/loadBalancers", infraID), "2023-11-01")
	must(t, err)
	rules, _ := balancer.Properties["outboundRules"].([]any)
	if len(rules) != 1 {
		t.Fatalf("%d outbound rules", len(rules))
	}
	rule, _ := rules[0].(map[string]any)
	properties, _ := rule["properties"].(map[string]any)
	const portsOfAnAddress, machines = 64000, 1000
	if each, ok := properties["allocatedOutboundPorts"].(float64); !ok || each*machines > portsOfAnAddress {
		t.Errorf("%v ports for each machine", properties["allocatedOutboundPorts"])
	}
}
