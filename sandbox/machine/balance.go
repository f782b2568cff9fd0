package machine

import (
	"net/netip"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// balancing is what a VNet's router does for load balancers.
type balancing struct {
	services []candidate
	probes   map[probeKey]feed.Probe
	public   map[netip.Addr]bool // frontends that the host sends to this router
}

// candidate is a service with all its backends, and the probe that each has to pass (nil: none).
type candidate struct {
	service
	probe *feed.Probe
}

// balancingFor reads from a snapshot what concerns one network: rules whose backends are its running machines.
func balancingFor(snap feed.Snapshot, networkID string) balancing {
	out := balancing{probes: map[probeKey]feed.Probe{}, public: map[netip.Addr]bool{}}
	running := map[string]bool{}
	for _, m := range snap.Machines {
		running[strings.ToLower(m.ID)] = m.Running && !m.Host
	}
	ours := func(backends []feed.Backend) []netip.Addr {
		var addrs []netip.Addr
		for _, b := range backends {
			a, err := netip.ParseAddr(b.PrivateIP)
			if err == nil && strings.EqualFold(b.NetworkID, networkID) && running[strings.ToLower(b.MachineID)] {
				addrs = append(addrs, a)
			}
		}
		return addrs
	}
	for _, lb := range snap.LoadBalancers {
		for _, r := range lb.Rules {
			probe := findProbe(lb, r.ProbeName)
			s := service{Protocol: protocolOf(r.Protocol), FrontendPort: r.FrontendPort, BackendPort: r.BackendPort, FloatingIP: r.FloatingIP, Backends: ours(r.Backends)}
			if s.Protocol == "" {
				s.FloatingIP = true // a rule for all ports translates none
			}
			out.add(lb, r.Frontend, s, probe, networkID)
		}
		for _, r := range lb.NATRules {
			s := service{Protocol: protocolOf(r.Protocol), FrontendPort: r.FrontendPort, BackendPort: r.BackendPort, Backends: ours([]feed.Backend{r.Backend})}
			out.add(lb, r.Frontend, s, nil, networkID)
		}
	}
	for _, nic := range nicsOf(snap, networkID) {
		private, public := parsed(nic.PrivateIP), parsed(nic.PublicIP)
		if len(private) == 1 && len(public) == 1 {
			b := service{Frontend: public[0], Backends: private}
			out.public[b.Frontend] = true
			out.services = append(out.services, candidate{service: b})
		}
	}
	return out
}

func (b *balancing) add(lb feed.LoadBalancer, frontend string, s service, probe *feed.Probe, networkID string) {
	if len(s.Backends) == 0 {
		return
	}
	for _, f := range lb.Frontends {
		address, err := netip.ParseAddr(f.IP)
		if err != nil || !strings.EqualFold(f.Name, frontend) {
			continue
		}
		s.Frontend = address
		if f.Public {
			b.public[address] = true
		}
		if probe != nil {
			for _, backend := range s.Backends {
				b.probes[keyOf(networkID, backend, *probe)] = *probe
			}
		}
		b.services = append(b.services, candidate{service: s, probe: probe})
	}
}

func keyOf(networkID string, backend netip.Addr, p feed.Probe) probeKey {
	return probeKey{Network: strings.ToLower(networkID), Backend: backend, Protocol: strings.ToLower(p.Protocol), Port: p.Port, Path: p.Path}
}

func findProbe(lb feed.LoadBalancer, name string) *feed.Probe {
	for i, p := range lb.Probes {
		if name != "" && strings.EqualFold(p.Name, name) {
			return &lb.Probes[i]
		}
	}
	return nil
}

func protocolOf(azure string) string {
	if p := strings.ToLower(azure); p == "tcp" || p == "udp" {
		return p
	}
	return ""
}

// healthyServices drops the backends that do not pass their probe.
func (b balancing) healthyServices(networkID string, healthy func(probeKey) bool) []service {
	var out []service
	for _, c := range b.services {
		s := c.service
		if c.probe != nil {
			s.Backends = nil
			for _, backend := range c.Backends {
				if healthy(keyOf(networkID, backend, *c.probe)) {
					s.Backends = append(s.Backends, backend)
				}
			}
		}
		out = append(out, s)
	}
	return out
}
