// Package azure assembles the embedded Azure: resource manager, token service, directory, blobs, DNS and the proxy that brings clients to
// them.
package azure

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
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

	OperationTime time.Duration // of long-running operations, default 100 ms
}

// ServicePrincipal is the user's: Contributor and User Access Administrator on the subscription.
type ServicePrincipal struct {
	ClientID, Secret string
	ObjectID         string // default: the client id
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
}

func (c Config) resolve() (resolved, error) {
	out := resolved{Config: c}
	for name, v := range map[string]string{"Dir": c.Dir, "ProxyAddr": c.ProxyAddr, "CACert": c.CACert, "CAKey": c.CAKey, "Subscription": c.Subscription,
		"Tenant": c.Tenant, "Location": c.Location, "ServicePrincipal.ClientID": c.ServicePrincipal.ClientID, "ServicePrincipal.Secret": c.ServicePrincipal.Secret} {
		if v == "" {
			return out, errors.New("embedded Azure: " + name + " is not set")
		}
	}
	if out.AdminSocket == "" {
		out.AdminSocket = c.Dir + "/admin.sock"
	}
	if out.FaultFile == "" {
		out.FaultFile = c.Dir + "/faults.json"
	}
	if out.ServicePrincipal.ObjectID == "" {
		out.ServicePrincipal.ObjectID = c.ServicePrincipal.ClientID
	}
	if out.OperationTime == 0 {
		out.OperationTime = defaultOperationTime
	}
	if out.PublicIPPrefix == "" {
		out.PublicIPPrefix = DefaultPublicIPPrefix
	}
	var err error
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
