package cluster

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// TestPortsGoWithTheirBridge: the host's ends of pods' links go, whatever has become of their other ends; links of others stay.
func TestPortsGoWithTheirBridge(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with its namespace
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "pods"}}
	if err := netlink.LinkAdd(bridge); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pod1", "pod2", "other"} {
		attributes := netlink.LinkAttrs{Name: name}
		if name != "other" {
			attributes.MasterIndex = bridge.Index
		}
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: name + "-in"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := removePorts("pods"); err != nil {
			t.Fatal(err)
		}
	}
	if err := removePorts("nobody"); err != nil {
		t.Error(err)
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, link := range links {
		left = append(left, link.Attrs().Name)
	}
	slices.Sort(left)
	if want := []string{"lo", "other", "other-in", "pods"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}
