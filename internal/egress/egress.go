// Package egress makes HTTP transports for addresses that a tenant chose: they speak https alone, and they do not reach the machine they
// run on, its platform's metadata, or, unless the installation allows it, private networks.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// ErrRefused is the cause of every refusal of this package.
var ErrRefused = errors.New("this address is not reached for tenants")

// Policy says which addresses may be reached.
type Policy struct {
	// AllowPrivate also lets private networks be reached, for registries and stores inside of them.
	AllowPrivate bool
}

// wireServer is Azure's platform channel to a virtual machine; it answers only that machine, with secrets.
var wireServer = netip.MustParseAddr("168.63.129.16")

// closed are ranges that no registry is in, and that netip has no predicate for: "this" network, broadcast and reserved, and the
// translations of IPv4 that would lead around the others.
var closed = prefixes("0.0.0.0/8", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")

// private are the networks of a management cluster and its neighbours, besides those that netip knows.
var private = prefixes("100.64.0.0/10")

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func in(address netip.Addr, ranges []netip.Prefix) bool {
	for _, prefix := range ranges {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Check refuses an address; the error wraps ErrRefused.
func (p Policy) Check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	switch {
	case address.IsLoopback(), address.IsUnspecified(), address.IsLinkLocalUnicast(), address.IsMulticast(), address == wireServer, in(address, closed):
		return fmt.Errorf("%w: %s is the machine's own or its platform's", ErrRefused, address)
	case !p.AllowPrivate && (address.IsPrivate() || in(address, private)):
		return fmt.Errorf("%w: %s is in a private network; the administrator can allow private networks with `hypershift install --allow-private-registries`", ErrRefused, address)
	}
	return nil
}

// Transport returns a transport like base, but for the policy. A request that base sends through a proxy leaves the choice of addresses
// to the proxy, except for hosts that are addresses themselves.
func (p Policy) Transport(base *http.Transport) *Transport {
	direct := base.Clone()
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, ControlContext: p.control}).DialContext
	return &Transport{policy: p, direct: direct, proxied: base}
}

// control sees the address after names were resolved, so that no name leads around the policy.
func (p Policy) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", ErrRefused, address)
	}
	return p.Check(resolved.Addr())
}

// Transport is an http.RoundTripper that keeps to a policy.
type Transport struct {
	policy          Policy
	direct, proxied *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w: %s://%s is not https", ErrRefused, request.URL.Scheme, request.URL.Host)
	}
	proxy, err := t.proxy(request)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return t.direct.RoundTrip(request)
	}
	if address, err := netip.ParseAddr(request.URL.Hostname()); err == nil {
		if err := t.policy.Check(address); err != nil {
			return nil, err
		}
	}
	return t.proxied.RoundTrip(request)
}

func (t *Transport) proxy(request *http.Request) (*url.URL, error) {
	if t.proxied.Proxy == nil {
		return nil, nil
	}
	proxy, err := t.proxied.Proxy(request)
	if err != nil {
		return nil, fmt.Errorf("choose a proxy for %s: %w", request.URL.Host, err)
	}
	return proxy, nil
}

// CloseIdleConnections is what http.Client calls.
func (t *Transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
