// Package machine is the hypervisor of the embedded Azure: it makes virtual networks, load balancers and virtual machines be what the
// embedded Azure's feed says. It is level-based; it can be killed at any time, and the machines live on.
package machine

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/machine/guest"
)

// Config of the hypervisor. The zero value of an optional field means the default named with it.
type Config struct {
	Dir         string // where machines live, one directory each
	AdminSocket string // of the embedded Azure
	CABundle    string // roots that machines trust, PEM
	System      string // root of the packages that the machines' operating systems are made from
	Self        string // the executable that dispatches "sandbox run vm-init" to RunInit

	DNSUpstream string         // "198.18.0.1:53"
	EdgeAllowed []EdgeEndpoint // what machines may reach on the host; default: DNS, TLS and proxy of the edge, the router's TLS
	PublicIPs   string         // "198.18.16.0/20"
	EdgeBridge  string         // "hsedge"
	EdgeAddress string         // "198.18.0.1/24", given to the bridge if it has to be made

	Prefix      string // of names of namespaces, links, cgroups and the nftables table: "hs"
	Uplinks     string // first 16 bits of uplink addresses: "198.19"
	FirstUplink int    // number of the first uplink

	Source Source // the feed on AdminSocket
	Log    func(format string, args ...any)
}

// EdgeEndpoint is an address, and port, of the host that machines may reach.
type EdgeEndpoint struct {
	Address  netip.Addr
	Protocol string // tcp or udp
	Port     uint16
}

var defaultEdge = []EdgeEndpoint{
	{netip.MustParseAddr("198.18.0.1"), "udp", 53},
	{netip.MustParseAddr("198.18.0.1"), "tcp", 53},
	{netip.MustParseAddr("198.18.0.1"), "tcp", 443},
	{netip.MustParseAddr("198.18.0.1"), "tcp", 8888},
	{netip.MustParseAddr("198.18.0.2"), "tcp", 443},
}

func (c Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		field *string
		value string
	}{
		{&c.DNSUpstream, "198.18.0.1:53"}, {&c.PublicIPs, "198.18.16.0/20"}, {&c.EdgeBridge, "hsedge"}, {&c.EdgeAddress, "198.18.0.1/24"},
		{&c.Prefix, "hs"}, {&c.Uplinks, "198.19"},
	} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if c.EdgeAllowed == nil {
		c.EdgeAllowed = defaultEdge
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.Dir == "" {
		return c, errors.New("the hypervisor needs a directory")
	}
	if len(c.Prefix) > 4 {
		return c, fmt.Errorf("prefix %q: at most 4 characters, names of links are short", c.Prefix)
	}
	var err error
	c.Dir, err = filepath.Abs(c.Dir)
	return c, err
}

// azure are the addresses that stand for Azure's services.
func (c Config) azure() []string {
	var out []string
	for _, e := range c.EdgeAllowed {
		out = append(out, e.Address.String())
	}
	return out
}

func (c Config) table() string         { return c.Prefix + "_sandbox" }
func (c Config) uplinkPattern() string { return c.Prefix + "u" }
func (c Config) uplink(n int) string   { return fmt.Sprintf("%s%d", c.uplinkPattern(), n) }
func (c Config) hostEnd(n int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("%s.%d.1", c.Uplinks, n))
}
func (c Config) routerEnd(n int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("%s.%d.2", c.Uplinks, n))
}

// RunInit is the virtual machine's pid 1; the command line dispatches "sandbox run vm-init ARGS" here.
func RunInit(args []string) error { return guest.Run(args) }
