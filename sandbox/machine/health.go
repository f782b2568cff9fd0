package machine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

const (
	probeTimeout  = 2 * time.Second
	fastestProbe  = time.Second
	probesUntilUp = 1
)

// probeKey is one probe of one backend. Two rules with the same probe share it.
type probeKey struct {
	Network  string
	Backend  netip.Addr
	Protocol string
	Port     int
	Path     string
}

// prober runs the health probes of a VNet's load balancers from inside its router.
type prober struct {
	dial    func(ctx context.Context, network, address string, from net.Addr) (net.Conn, error) // from inside the router
	changed func()
	trust   bool // the first backends pass until a probe says no: the router was balancing to them before this hypervisor started

	mu     sync.Mutex
	cancel map[probeKey]context.CancelFunc
	probes map[probeKey]feed.Probe // as they are now
	up     map[probeKey]bool
}

func newProber(ns *namespace, trust bool, changed func()) *prober {
	return &prober{dial: ns.dial, trust: trust, changed: changed, cancel: map[probeKey]context.CancelFunc{}, probes: map[probeKey]feed.Probe{},
		up: map[probeKey]bool{}}
}

// want makes exactly these probes run.
func (p *prober) want(ctx context.Context, probes map[probeKey]feed.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, stop := range p.cancel {
		if _, wanted := probes[key]; !wanted {
			stop()
			delete(p.cancel, key)
			delete(p.probes, key)
			delete(p.up, key)
		}
	}
	for key, probe := range probes {
		p.probes[key] = probe
		if p.cancel[key] == nil {
			mine, stop := context.WithCancel(ctx)
			p.cancel[key] = stop
			p.up[key] = p.trust
			go p.run(mine, key)
		}
	}
	p.trust = false
}

func (p *prober) healthy(key probeKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up[key]
}

// pace is how often a backend is probed, and how many failures in a row make it unhealthy.
func (p *prober) pace(key probeKey) (interval time.Duration, threshold int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	probe := p.probes[key]
	return max(time.Duration(probe.IntervalSeconds)*time.Second, fastestProbe), max(probe.NumberOfProbes, 1)
}

func (p *prober) run(ctx context.Context, key probeKey) {
	good, bad := 0, 0
	for {
		err := p.once(ctx, key)
		if ctx.Err() != nil {
			return
		}
		interval, threshold := p.pace(key)
		if err == nil {
			good, bad = good+1, 0
		} else {
			good, bad = 0, bad+1
		}
		up := p.healthy(key)
		if (!up && good >= probesUntilUp) || (up && bad >= threshold) {
			p.set(ctx, key, !up)
		}
		pause := interval
		if !p.healthy(key) { // a backend that comes up is found sooner than Azure would
			pause = fastestProbe
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (p *prober) set(ctx context.Context, key probeKey, up bool) {
	p.mu.Lock()
	if ctx.Err() == nil {
		p.up[key] = up
	}
	p.mu.Unlock()
	p.changed()
}

// once probes with the source address that Azure's probes have.
func (p *prober) once(ctx context.Context, key probeKey) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	from := &net.TCPAddr{IP: net.ParseIP(azureAddress)}
	address := net.JoinHostPort(key.Backend.String(), strconv.Itoa(key.Port))
	if strings.EqualFold(key.Protocol, "tcp") {
		conn, err := p.dial(ctx, "tcp4", address, from)
		if err == nil {
			conn.Close()
		}
		return err
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- Azure's HTTPS probes do not verify
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return p.dial(ctx, "tcp4", address, from)
		},
	}
	req, err := probeRequest(ctx, key)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("health probe: %w: %s", errUnhealthy, resp.Status)
	}
	return nil
}

var errUnhealthy = errors.New("unhealthy")

// probeRequest is what an HTTP or HTTPS probe asks.
func probeRequest(ctx context.Context, key probeKey) (*http.Request, error) {
	address := net.JoinHostPort(key.Backend.String(), strconv.Itoa(key.Port))
	return http.NewRequestWithContext(ctx, http.MethodGet, strings.ToLower(key.Protocol)+"://"+address+"/"+strings.TrimPrefix(key.Path, "/"), nil)
}
