package graph_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/graph"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

const network = "/subscriptions/s/resourceGroups/demo-vnet-demo-x/providers/Microsoft.Network/"

// demo is a cluster with a pool of a fixed size and one that scales itself.
func demo() *survey.Cluster {
	hc := &hyperv1.HostedCluster{}
	hc.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{ResourceGroupName: "demo-demo-x", Location: "eastus", VnetID: network + "virtualNetworks/demo-demo-x",
		SubnetID: network + "virtualNetworks/demo-demo-x/subnets/default", SecurityGroupID: network + "networkSecurityGroups/demo-demo-x-nsg"}
	hc.Spec.DNS.PrivateZoneID = network + "privateDnsZones/demo.example.com"
	return &survey.Cluster{Namespace: "clusters", Name: "demo", Version: "1.34.1", Available: "True", Endpoint: "203.0.113.7:6443", Object: hc, NodePools: []survey.Pool{
		{Name: "demo", Version: "1.34.1", Nodes: 1, Wanted: 3, Progress: "Updating", Machines: []survey.Machine{
			{Name: "demo-a", VM: "vm-a", Node: "node-a", Stage: survey.Ready, Size: "Standard_D4s_v5", Version: "v1.34.1"},
			{Name: "demo-b", VM: "vm-b", Stage: survey.Failed},
			{Name: "demo-c", Stage: "Creating"}}},
		{Name: "scaled", Version: "1.34.1", Nodes: 2, Wanted: -1, Minimum: 1, Maximum: 5, Progress: survey.Ready},
	}}
}

// drawn are the things of a graph: side, kind and name, with note and state.
func drawn(g *graph.Graph) map[string]string {
	out := map[string]string{}
	for _, n := range g.Nodes {
		out[string(n.Side)+" "+n.Kind+" "+n.Name] = strings.TrimSpace(n.Note + " " + string(n.State))
	}
	return out
}

// joined are its edges by the names of their ends.
func joined(g *graph.Graph) []string {
	names := map[string]string{}
	for _, n := range g.Nodes {
		names[n.ID] = n.Name
	}
	var out []string
	for _, e := range g.Edges {
		out = append(out, names[e.From]+" "+e.Label+" "+names[e.To])
	}
	return out
}

// Everything is drawn once, on its side, in the colour of how it is: a picture that shows something well which has failed is worse than none.
func TestWhatIsDrawn(t *testing.T) {
	g := graph.Of(demo(), []graph.Workload{{"StatefulSet", "etcd", 3, 2}, {"Deployment", "kube-apiserver", 2, 0}, {"Deployment", "router", 1, 1}, {"Deployment", "autoscaler", 0, 0}},
		[]graph.Resource{
			{"Microsoft.Compute/virtualMachines", "VM-A", "Succeeded"}, {"Microsoft.Compute/disks", "vm-a_OSDisk", "Succeeded"},
			{"Microsoft.Network/networkSecurityGroups", "demo-demo-x-nsg", "Failed"}, {"Microsoft.Network/loadBalancers", "demo-x", "Updating"},
			{"Microsoft.Network/publicIPAddresses", "demo-x", "Failed"}, {"Microsoft.Network/natGateways", "nat", "Canceled"}, {"Microsoft.Odd/things", "odd", ""},
		})
	got := drawn(g)
	for what, want := range map[string]string{
		"Management cluster HostedCluster demo":        "1.34.1 good",
		"Management cluster StatefulSet etcd":          "2 of 3 coming",
		"Management cluster Deployment kube-apiserver": "0 of 2 bad",
		"Management cluster Deployment router":         "1 of 1 good",
		"Management cluster Deployment autoscaler":     "0 of 0 good",
		"Management cluster NodePool demo":             "1 of 3, 1.34.1 coming",
		"Management cluster NodePool scaled":           "2 of 1 to 5, 1.34.1 good",
		"Management cluster Machine demo-a":            "Ready good",
		"Management cluster Machine demo-b":            survey.Failed + " bad",
		"Management cluster Machine demo-c":            "Creating coming",
		"Azure Virtual machine vm-a":                   "Standard_D4s_v5 good",
		"Azure Virtual machine vm-b":                   "bad",
		"Azure Resource group demo-demo-x":             "unknown",
		"Azure Network security group demo-demo-x-nsg": "unknown",
		"Azure Private DNS zone demo.example.com":      "unknown",
		"Azure Disk vm-a_OSDisk":                       "Succeeded good",
		"Azure Load balancer demo-x":                   "Updating coming",
		"Azure Public IP address demo-x":               "Failed bad",
		"Azure NAT gateway nat":                        "Canceled bad",
		"Azure things odd":                             "unknown",
		"Hosted cluster API server 203.0.113.7:6443":   "good",
		"Hosted cluster Node node-a":                   "v1.34.1 good",
	} {
		if is, there := got[what]; !there || is != want {
			t.Errorf("%s: %q, want %q", what, is, want)
		}
	}
	if len(got) != len(g.Nodes) {
		t.Errorf("%d things are drawn %d times", len(got), len(g.Nodes))
	}
	if _, twice := got["Azure Virtual machine VM-A"]; twice {
		t.Error("a machine is drawn twice, for Azure spells it otherwise")
	}
	edges := joined(g)
	for _, want := range []string{"demo has demo", "demo has demo-a", "demo-a is vm-a", "vm-a in default", "vm-a runs node-a", "vm-b in default", "demo-demo-x has default",
		"demo-demo-x-nsg guards default", "demo.example.com linked to demo-demo-x", "demo-demo-x has vm-a_OSDisk", "demo serves 203.0.113.7:6443"} {
		if !slices.Contains(edges, want) {
			t.Errorf("%q is not drawn: %q", want, edges)
		}
	}
	if slices.ContainsFunc(edges, func(e string) bool { return strings.HasPrefix(e, "demo-c is") || strings.HasPrefix(e, " ") }) {
		t.Errorf("an edge leads from what is not there: %q", edges)
	}
}

// What is not known is drawn as unknown, and what a cluster of another platform does not have is left out.
func TestLittleIsKnown(t *testing.T) {
	for available, want := range map[string]string{"True": "good", "False": "bad", "Unknown": "unknown", "": "unknown"} {
		g := graph.Of(&survey.Cluster{Namespace: "clusters", Name: "demo", Available: available, Object: &hyperv1.HostedCluster{}}, nil, nil)
		got := drawn(g)
		if got["Management cluster HostedCluster demo"] != want || len(got) != 2 || len(g.Edges) != 1 {
			t.Errorf("%q: %v, edges %v", available, got, joined(g))
		}
	}
	bare := demo()
	bare.Object.Spec.Platform.Azure.SecurityGroupID, bare.Object.Spec.Platform.Azure.SubnetID, bare.Object.Spec.DNS.PrivateZoneID = "", "", ""
	for _, e := range joined(graph.Of(bare, nil, nil)) {
		if strings.Contains(e, "guards") || strings.Contains(e, "linked") || strings.HasSuffix(e, "in default") {
			t.Errorf("%q is drawn of what is not named", e)
		}
	}
}

// Both languages have every node within its side and every edge between nodes that there are; the same cluster gives the same picture.
func TestBothLanguagesHaveAllOfIt(t *testing.T) {
	g := graph.Of(demo(), []graph.Workload{{"Deployment", "router", 1, 1}}, nil)
	mermaid, dot := g.Mermaid(), g.Dot()
	if again := graph.Of(demo(), []graph.Workload{{"Deployment", "router", 1, 1}}, nil); again.Mermaid() != mermaid || again.Dot() != dot {
		t.Error("two pictures of the same differ")
	}
	for _, n := range g.Nodes {
		if !regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(n.ID) {
			t.Errorf("id %q", n.ID)
		}
		if strings.Count(mermaid, "    "+n.ID+"[") != 1 || strings.Count(dot, "    "+n.ID+" [label") != 1 {
			t.Errorf("%s is there %d and %d times", n.Name, strings.Count(mermaid, "    "+n.ID+"["), strings.Count(dot, "    "+n.ID+" [label"))
		}
	}
	if strings.Count(mermaid, " --> ") != len(g.Edges) || strings.Count(dot, " -> ") != len(g.Edges) {
		t.Errorf("%d edges; in mermaid %d, in dot %d", len(g.Edges), strings.Count(mermaid, " --> "), strings.Count(dot, " -> "))
	}
	for _, part := range []string{`title: "clusters/demo"`, "subgraph Management_cluster", "subgraph Azure", "subgraph Hosted_cluster"} {
		if !strings.Contains(mermaid, part) {
			t.Errorf("%s is missing in\n%s", part, mermaid)
		}
	}
	if strings.Count(mermaid, "  end\n") != 3 || strings.Count(dot, "{") != strings.Count(dot, "}") {
		t.Errorf("not closed:\n%s\n%s", mermaid, dot)
	}
}
