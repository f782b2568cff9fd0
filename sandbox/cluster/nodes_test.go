package cluster

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// addressesOf reads which addresses the network plugins of a node give out.
func addressesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var network struct {
		Plugins []struct {
			IPAM struct{ Ranges [][]map[string]string }
		}
	}
	if err := json.Unmarshal(text, &network); err != nil {
		t.Fatal(err)
	}
	return network.Plugins[0].IPAM.Ranges[0][0]
}

func threeNodes(t *testing.T) Config {
	t.Helper()
	c := testConfig(t)
	c.Nodes = 3
	for _, step := range []func() error{c.ensureClusterPKI, c.writeContainerd, c.writeKubelet, c.writeKubeProxy, c.makeNodes} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Nodes have nothing in common: no name, zone, address, credential, disk, cgroup, and no address of a pod.
func TestNodesShareNothing(t *testing.T) {
	c := threeNodes(t)
	if err := (supervise.Plan{Parts: c.Parts()}).Validate(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	once := func(n node, fact, value string) {
		t.Helper()
		if other := seen[fact+value]; value == "" || other != "" {
			t.Errorf("%s of %s is %q, as that of %s", fact, n.name(), value, other)
		}
		seen[fact+value] = n.name()
	}
	var last netip.Addr
	for _, n := range c.allNodes() {
		once(n, "name", n.name())
		once(n, "zone", n.zone())
		once(n, "address", n.address())
		once(n, "command", strings.Join(c.kubeletCommand(n), " "))
		var kubelet map[string]any
		text, err := os.ReadFile(c.kubeletConfig(n))
		if err != nil || yaml.Unmarshal(text, &kubelet) != nil {
			t.Fatalf("kubelet of %s: %v", n.name(), err)
		}
		for _, field := range []string{"address", "cgroupRoot", "tlsPrivateKeyFile"} {
			once(n, "kubelet's "+field, kubelet[field].(string))
		}
		dir := c.cluster("cni")
		if n.index > 0 {
			dir = c.disk(n, "cni")
		}
		pods := addressesOf(t, dir+"/10-pods.conflist")
		first, err := netip.ParseAddr(pods["rangeStart"])
		if err != nil || !last.Less(first) || !n.pods().Contains(first) || pods["subnet"] != names.PodCIDR {
			t.Errorf("pods of %s have %v, after %s: %v", n.name(), pods, last, err)
		}
		last = netip.MustParseAddr(pods["rangeEnd"])
		if !n.pods().Contains(last) || !n.pods().Contains(netip.MustParseAddr(pods["gateway"])) {
			t.Errorf("pods of %s have %v, outside of %s", n.name(), pods, n.pods())
		}
	}
}

// What one node reads is what it has read before there could be several.
func TestOneNodeHasAllAddresses(t *testing.T) {
	c := testConfig(t)
	if err := c.writeContainerd(); err != nil {
		t.Fatal(err)
	}
	if pods := addressesOf(t, c.cluster("cni", "10-pods.conflist")); len(pods) != 1 || pods["subnet"] != names.PodCIDR {
		t.Errorf("pods have %v", pods)
	}
	if got := strings.Join(c.kubeletCommand(node{}), " "); strings.Contains(got, excludeFromBalancers) || !strings.Contains(got, "--hostname-override=management-0") {
		t.Errorf("the kubelet is %s", got)
	}
	for _, part := range c.Parts() {
		if strings.HasPrefix(part.Name, "management-") {
			t.Errorf("there is a part %s", part.Name)
		}
	}
}

func TestWhichNodesCanFail(t *testing.T) {
	c := Config{Nodes: 3}
	for name, want := range map[string]string{"management-1": "", "management-2": "", "management-0": "this machine", "management-3": "no management node", "": "no management node"} {
		_, err := c.findNode(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("node %q: %v, want %q", name, err, want)
		}
	}
}

// The objects are told of several nodes, and of a plain cluster.
func TestObjectsFollowTheCluster(t *testing.T) {
	c := Config{Dir: "/sandbox", Nodes: 3, Plain: true}
	if from := c.objects(nil); !from.SeveralNodes || !from.Plain || from.Volumes != c.cluster("volumes") || from.CA != c.CA() {
		t.Errorf("%+v", from)
	}
	if from := (Config{Nodes: 1}).objects(nil); from.SeveralNodes || from.Plain {
		t.Errorf("%+v", from)
	}
}
