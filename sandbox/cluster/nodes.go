package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
)

// MaxNodes is how many nodes a management cluster has at most.
const MaxNodes = 9

const (
	nodeZones     = 3
	nodePrefixLen = 20 // of a node's part of names.PodCIDR
	// excludeFromBalancers keeps the load balancers of Azure to node 0: no other node is a virtual machine there.
	excludeFromBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
)

// node of the management cluster. Node 0 is the machine itself, with the API server of the cluster. A further one has network, mounts and
// processes of its own, a disk of its own and a kubelet of its own, and fails as a whole.
type node struct{ index int }

func (c Config) allNodes() []node { return append([]node{{}}, c.furtherNodes()...) }

// furtherNodes are those beside node 0.
func (c Config) furtherNodes() []node {
	var list []node
	for i := 1; i < c.Nodes; i++ {
		list = append(list, node{i})
	}
	return list
}

// findNode finds a node that can fail by its name.
func (c Config) findNode(name string) (node, error) {
	for _, n := range c.furtherNodes() {
		if n.name() == name {
			return n, nil
		}
	}
	if name == names.NodeName {
		return node{}, fmt.Errorf("node %s is this machine, with the management API server: it cannot fail alone; take another node, which sandbox up --management-nodes brings", name)
	}
	return node{}, fmt.Errorf("there is no management node %q: kubectl get nodes lists them", name)
}

func (n node) name() string { return fmt.Sprintf("management-%d", n.index) }

func (n node) zone() string { return fmt.Sprintf("%s-%d", names.Location, n.index%nodeZones+1) }

// address of the node on the edge.
func (n node) address() string {
	if n.index == 0 {
		return names.EdgeIP
	}
	return fmt.Sprintf("198.18.0.%d", 10+n.index)
}

// pods is the node's part of the pods' addresses.
func (n node) pods() netip.Prefix {
	all := netip.MustParsePrefix(names.PodCIDR).Addr().As4()
	all[2] = byte(n.index << (24 - nodePrefixLen))
	return netip.PrefixFrom(netip.AddrFrom4(all), nodePrefixLen)
}

// firstLast are the gateway of the node's pods and the last address of them.
func (n node) firstLast() (gateway, last netip.Addr) {
	start := n.pods().Addr()
	end := start.As4()
	end[2] |= 1<<(24-nodePrefixLen) - 1
	end[3] = 254
	return start.Next(), netip.AddrFrom4(end)
}

// link is the machine's end of the node's network.
func (n node) link() string { return fmt.Sprintf("hsn%d", n.index) }

// group is the cgroup of the node's pods; node 0 has the machine's.
func (n node) group() string { return fmt.Sprintf("%s%d", nodeGroups, n.index) }

const nodeGroups = "hsnode-"

// credential is the name of the kubelet's certificate and kubeconfig.
func (n node) credential() string {
	if n.index == 0 {
		return "kubelet"
	}
	return "kubelet-" + n.name()
}

// suffixed names a file that each node has: that of node 0 has no suffix.
func (n node) suffixed(name, extension string) string {
	if n.index == 0 {
		return name + extension
	}
	return name + "-" + n.name() + extension
}

func (n node) identity() pki.Identity {
	return pki.Identity{Name: "system:node:" + n.name(), Group: "system:nodes", Hosts: []string{n.address(), n.name()}}
}

// disk is the directory that is a further node's disk.
func (c Config) disk(n node, elements ...string) string {
	return c.cluster(append([]string{"nodes", n.name()}, elements...)...)
}

// ownDirs are what of the cluster's directory a node has on its own disk, at the same place.
var ownDirs = []string{"kubelet", "containerd", "cni", "pod-logs", "volumes", "machine"}

// ownOutside are the directories of programs that cannot be told otherwise, which a node has on its own disk.
var ownOutside = []string{"/var/lib/cni", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods"}

// binds are a further node's disk: where a directory of it is mounted, for each directory.
func (c Config) binds(n node) map[string]string {
	mounts := map[string]string{}
	for _, dir := range ownDirs {
		mounts[c.disk(n, dir)] = c.cluster(dir)
	}
	for _, dir := range ownOutside {
		mounts[c.disk(n, "outside", filepath.Base(dir))] = dir
	}
	return mounts
}

// makeNodes writes what further nodes read.
func (c Config) makeNodes() error {
	for _, n := range c.furtherNodes() {
		for dir := range c.binds(n) {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := errors.Join(c.writePodNetwork(n), c.writeKubeletOf(n), c.writeKubeProxyOf(n)); err != nil {
			return fmt.Errorf("files of node %s: %w", n.name(), err)
		}
	}
	return nil
}

// routeNodes leads the pods' packets between nodes through the machine. The pods' bridge answers for addresses of other nodes, since a
// pod takes all of names.PodCIDR for its neighbours.
func (c Config) routeNodes() error {
	if c.Nodes < 2 {
		return nil
	}
	if err := pinHardwareAddress(names.EdgeBridge); err != nil {
		return err
	}
	if err := makeBridge(names.PodBridge); err != nil {
		return err
	}
	for name, value := range map[string]string{"conf/" + names.PodBridge + "/proxy_arp": "1", "neigh/" + names.PodBridge + "/proxy_delay": "0"} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4", name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
	return routesTo(c.furtherNodes())
}

// pinHardwareAddress keeps the address of a bridge, which is else that of one of its ports: neighbours remember it.
func pinHardwareAddress(name string) error {
	bridge, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetHardwareAddr(bridge, bridge.Attrs().HardwareAddr)
}

func makeBridge(name string) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	bridge := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(bridge); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	found, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(found)
}

// routesTo leads to the pods of other nodes, in the network namespace of this thread.
func routesTo(others []node) error {
	for _, n := range others {
		prefix := n.pods()
		route := &netlink.Route{
			Dst: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())},
			Gw:  net.ParseIP(n.address()),
		}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("route to the pods of %s: %w", n.name(), err)
		}
	}
	return nil
}
