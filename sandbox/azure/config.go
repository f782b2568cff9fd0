// Package azure assembles the embedded Azure: resource manager, token service, directory, blobs, DNS and the proxy that brings clients to
// them.
package azure

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
)

// Config of an embedded Azure.
type Config struct {
	Dir         string // its own folder, <sandbox>/azure: state, blobs, keys, access.log
	AdminSocket string // default <Dir>/admin.sock

	ProxyAddr string // CONNECT proxy: "127.0.0.1:8888", "198.18.0.1:8888"
	// More addresses of the same proxy, such as 127.0.0.1:8888 beside that of the bridge.
	ExtraProxyAddrs []string
	EdgeAddr        string // TLS by server name: "198.18.0.1:443"; "" for none
	DNSAddr         string // UDP and TCP: "198.18.0.1:53"; "" for none

	CACert, CAKey string // PEM files of the authority that signs the server certificates

	Subscription, Tenant, Location string
	ServicePrincipal               ServicePrincipal

	PublicIPPrefix string            // addresses of public IP resources, default 198.18.16.0/20
	TunnelPrefixes []string          // where CONNECT may lead, default 198.18.0.0/15
	Forward        map[string]string // host, or "*.suffix" -> host:port: passed through without looking inside
	Seed           []SeedResource    // made at the first start, in this order

	FaultFile string // rules of injected faults, read at the start and written back; default <Dir>/faults.json

	Profile       string        // how long everything takes: realistic or fast; default fast
	ProfileScale  float64       // multiplies the times of the realistic profile, default 1
	OperationTime time.Duration // of long-running operations in the fast profile, default 100 ms

	ProvisioningTimeout time.Duration // how long the guest of a virtual machine may take to be ready, default that of the profile
}

// ServicePrincipal is the user's: Contributor and User Access Administrator on the subscription.
type ServicePrincipal struct {
	ClientID, Secret string
	ObjectID         string   // default: the client id
	GraphRoles       []string // app roles of Microsoft Graph; default Application.ReadWrite.OwnedBy, with which service principals can be made and read
}

// SeedResource is put as the service principal unless it exists. Body is what a client would send.
type SeedResource struct {
	ID   string
	Body map[string]any
}

// Defaults.
const (
	DefaultPublicIPPrefix = "198.18.16.0/20"
	DefaultTunnelPrefix   = "198.18.0.0/15"
	defaultOperationTime  = 100 * time.Millisecond
)

// resolved is a config with its addresses parsed.
type resolved struct {
	Config
	publicIPs netip.Prefix
	tunnels   []netip.Prefix
	edge      netip.Addr
	pace      pace.Profile
}

func (c Config) resolve() (resolved, error) {
	out := resolved{Config: c}
	for name, v := range map[string]string{"Dir": c.Dir, "ProxyAddr": c.ProxyAddr, "CACert": c.CACert, "CAKey": c.CAKey, "Subscription": c.Subscription,
		"Tenant": c.Tenant, "Location": c.Location, "ServicePrincipal.ClientID": c.ServicePrincipal.ClientID, "ServicePrincipal.Secret": c.ServicePrincipal.Secret} {
		if v == "" {
			return out, errors.New("embedded Azure: " + name + " is not set")
		}
	}
	out.AdminSocket = cmp.Or(c.AdminSocket, c.Dir+"/admin.sock")
	out.FaultFile = cmp.Or(c.FaultFile, c.Dir+"/faults.json")
	out.ServicePrincipal.ObjectID = cmp.Or(c.ServicePrincipal.ObjectID, c.ServicePrincipal.ClientID)
	if out.ServicePrincipal.GraphRoles == nil {
		out.ServicePrincipal.GraphRoles = []string{entra.WriteOwn}
	}
	out.OperationTime = cmp.Or(c.OperationTime, defaultOperationTime)
	out.PublicIPPrefix = cmp.Or(c.PublicIPPrefix, DefaultPublicIPPrefix)
	var err error
	if out.pace, err = pace.New(cmp.Or(c.Profile, pace.Fast), out.OperationTime, c.ProfileScale); err != nil {
		return out, err
	}
	out.ProvisioningTimeout = cmp.Or(out.ProvisioningTimeout, out.pace.Guest())
	if out.publicIPs, err = netip.ParsePrefix(out.PublicIPPrefix); err != nil {
		return out, fmt.Errorf("embedded Azure: PublicIPPrefix: %w", err)
	}
	if len(c.TunnelPrefixes) == 0 {
		out.TunnelPrefixes = []string{DefaultTunnelPrefix}
	}
	for _, text := range out.TunnelPrefixes {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return out, fmt.Errorf("embedded Azure: TunnelPrefixes: %w", err)
		}
		out.tunnels = append(out.tunnels, p)
	}
	if c.EdgeAddr != "" {
		ap, err := netip.ParseAddrPort(c.EdgeAddr)
		if err != nil {
			return out, fmt.Errorf("embedded Azure: EdgeAddr: %w", err)
		}
		out.edge = ap.Addr()
	}
	return out, nil
}
