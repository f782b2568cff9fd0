package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/cgroup"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/imds"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// Source is where the desired state comes from and where the hypervisor reports: the feed of the embedded Azure.
type Source interface {
	// Watch blocks until there is a state newer than the revision after.
	Watch(ctx context.Context, after uint64) (feed.Snapshot, error)
	Report(ctx context.Context, status feed.Status) error
}

const (
	retryPause   = time.Second
	resyncPause  = 10 * time.Second
	reportWithin = 5 * time.Second
)

// hypervisor holds what exists; all of it can be found again from the directory and the kernel.
type hypervisor struct {
	cfg    Config
	groups []cgroup.Hierarchy

	mu      sync.Mutex // guards snap and vms for what is served to machines; only the reconciliation changes them
	snap    feed.Snapshot
	routers map[string]*router // by lower-case network id
	probers map[string]*prober
	uplinks *uplinks
	disks   *diskStore
	vms     map[string]*vm // by lower-case machine id

	reported map[string]feed.Status
	rules    nftable.Loader // of the host
	kick     chan struct{}
}

// Run makes virtual networks, load balancers and machines be what the embedded Azure says, until ctx ends. They stay when it returns; the next Run finds them.
func Run(ctx context.Context, config Config) error {
	h, err := newHypervisor(config)
	if err != nil {
		return err
	}
	defer h.close()
	snapshots := make(chan feed.Snapshot)
	go h.watch(ctx, snapshots)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	known := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case snap := <-snapshots:
			h.mu.Lock()
			h.snap = snap
			h.mu.Unlock()
			known = true
		case <-h.kick:
		case <-timer.C:
		}
		if !known {
			continue
		}
		pause := resyncPause
		if err := h.reconcile(ctx); err != nil {
			h.cfg.Log("hypervisor: %v", err)
			pause = retryPause
		}
		timer.Reset(pause)
	}
}

func newHypervisor(config Config) (*hypervisor, error) {
	cfg, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Source == nil {
		cfg.Source = feed.NewClient(cfg.AdminSocket)
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	h := &hypervisor{
		cfg: cfg, routers: map[string]*router{}, probers: map[string]*prober{}, vms: map[string]*vm{}, reported: map[string]feed.Status{}, kick: make(chan struct{}, 1),
		disks: newDiskStore(cfg.Dir),
	}
	if h.groups, err = cgroup.Hierarchies(); err != nil {
		return nil, err
	}
	if h.uplinks, err = loadUplinks(cfg); err != nil {
		return nil, err
	}
	return h, h.adopt()
}

// adopt finds the machines of an earlier run.
func (h *hypervisor) adopt() error {
	dirs, err := filepath.Glob(filepath.Join(h.cfg.Dir, "*", recordFile))
	if err != nil {
		return err
	}
	for _, path := range dirs {
		v, err := loadVM(h.cfg, h.groups, filepath.Dir(path))
		if err != nil {
			return err
		}
		if v.pidfd >= 0 {
			h.cfg.Log("machine %s: adopted, pid %d", filepath.Base(v.dir), v.pid)
			go h.whenDead(v.died)
		}
		h.vms[strings.ToLower(v.record.ID)] = v
	}
	return nil
}

func (h *hypervisor) close() {
	for _, v := range h.vms {
		if v.hollow != nil {
			v.hollow.cancel()
		}
	}
	for id, r := range h.routers {
		h.probers[id].want(context.Background(), nil)
		r.close()
	}
}

// nudge asks for a reconciliation.
func (h *hypervisor) nudge() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

func (h *hypervisor) whenDead(died <-chan struct{}) {
	<-died
	h.nudge()
}

func (h *hypervisor) watch(ctx context.Context, out chan<- feed.Snapshot) {
	var revision uint64
	for ctx.Err() == nil {
		snap, err := h.cfg.Source.Watch(ctx, revision)
		if err != nil {
			if ctx.Err() == nil {
				h.cfg.Log("hypervisor: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
			continue
		}
		revision = snap.Revision
		select {
		case out <- snap:
		case <-ctx.Done():
		}
	}
}

// reconcile brings the host to the desired state. What fails does not keep the rest from being done.
func (h *hypervisor) reconcile(ctx context.Context) error {
	var errs []error
	errs = append(errs, h.host())
	networks := inhabited(h.snap)
	for _, n := range networks {
		if err := h.network(n); err != nil {
			errs = append(errs, err)
		}
	}
	for _, n := range networks { // rules come before anything can be sent
		errs = append(errs, h.balance(ctx, n))
	}
	errs = append(errs, h.disks.keep(h.snap.Disks), h.machines(ctx), h.letGo(), h.removeNetworks(networks))
	return errors.Join(errs...)
}

// inhabited are the networks that have virtual machines: the others, and the one in which the management node is, need no router.
func inhabited(snap feed.Snapshot) []feed.Network {
	used := map[string]bool{}
	for _, m := range snap.Machines {
		for _, nic := range m.NICs {
			used[strings.ToLower(nic.NetworkID)] = used[strings.ToLower(nic.NetworkID)] || !m.Host
		}
	}
	return slices.DeleteFunc(slices.Clone(snap.Networks), func(n feed.Network) bool { return !used[strings.ToLower(n.ID)] })
}

func (h *hypervisor) host() error {
	if err := ensureEdge(h.cfg); err != nil {
		return err
	}
	if err := h.rules.Replace(context.Background(), hostRules(h.cfg)); err != nil {
		return fmt.Errorf("rules of the host: %w", err)
	}
	return nil
}

// network opens the router of a VNet and serves in it.
func (h *hypervisor) network(n feed.Network) error {
	id := strings.ToLower(n.ID)
	if h.routers[id] != nil {
		return nil
	}
	number, err := h.uplinks.number(id)
	if err != nil {
		return err
	}
	r, err := openRouter(h.cfg, n, number)
	if err != nil {
		return err
	}
	find := func(address string) (feed.Machine, feed.Subnet, bool) { return h.find(n.ID, address) }
	metadata, err := r.ns.serve(metadataAddress, imds.Handler(find))
	if err != nil {
		r.close()
		return fmt.Errorf("metadata service of %s: %w", n.Name, err)
	}
	r.serving = append(r.serving, metadata)
	agents, err := r.ns.serve(azureAddress, wireHandler(find, h.note))
	if err != nil {
		r.close()
		return fmt.Errorf("wire server of %s: %w", n.Name, err)
	}
	r.serving = append(r.serving, agents)
	names, err := serveDNS(r.ns, n.ID, h.cfg.DNSUpstream, h.cfg.Log)
	if err != nil {
		r.close()
		return fmt.Errorf("DNS of %s: %w", n.Name, err)
	}
	r.serving = append(r.serving, names...)
	h.routers[id] = r
	h.probers[id] = newProber(r.ns, r.found, h.nudge)
	h.cfg.Log("network %s: router %s, uplink %s", n.Name, r.ns.name, h.cfg.uplink(number))
	return nil
}

// find is the lookup of the metadata service and the wire server.
func (h *hypervisor) find(networkID, address string) (feed.Machine, feed.Subnet, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.snap.Machines {
		for _, nic := range m.NICs {
			if nic.PrivateIP != address || !strings.EqualFold(nic.NetworkID, networkID) {
				continue
			}
			_, s, _ := findSubnet(h.snap, nic.SubnetID)
			return m, s, true
		}
	}
	return feed.Machine{}, feed.Subnet{}, false
}

func findSubnet(snap feed.Snapshot, id string) (feed.Network, feed.Subnet, bool) {
	for _, n := range snap.Networks {
		for _, s := range n.Subnets {
			if strings.EqualFold(s.ID, id) {
				return n, s, true
			}
		}
	}
	return feed.Network{}, feed.Subnet{}, false
}

// balance updates gateways, rules, probes and routes of a network.
func (h *hypervisor) balance(ctx context.Context, n feed.Network) error {
	id := strings.ToLower(n.ID)
	r := h.routers[id]
	if r == nil {
		return nil // its error is reported
	}
	b := balancingFor(h.snap, n.ID)
	h.probers[id].want(ctx, b.probes)
	t := traffic{network: n, nics: nicsOf(h.snap, n.ID), services: b.healthyServices(n.ID, h.probers[id].healthy), ways: waysOut(h.snap, n),
		azure: h.cfg.azure(), public: h.cfg.PublicIPs}
	if err := r.update(t); err != nil {
		return fmt.Errorf("network %s: %w", n.Name, err)
	}
	maps.Copy(b.public, standIns(t.ways))
	if err := r.routePublic(b.public); err != nil {
		return fmt.Errorf("network %s: %w", n.Name, err)
	}
	return nil
}

// removeNetworks removes what no longer is, also of earlier runs.
func (h *hypervisor) removeNetworks(keep []feed.Network) error {
	wanted, names := map[string]bool{}, map[string]bool{}
	for _, n := range keep {
		wanted[strings.ToLower(n.ID)] = true
		names[h.cfg.namespaceName(n.ID)] = true
	}
	var errs []error
	for _, id := range slices.Collect(maps.Keys(h.routers)) {
		if wanted[id] {
			continue
		}
		h.probers[id].want(context.Background(), nil)
		h.cfg.Log("network %s: removed", h.routers[id].network.Name)
		errs = append(errs, h.routers[id].remove())
		delete(h.routers, id)
		delete(h.probers, id)
	}
	existing, err := namespacesWith(h.cfg.Prefix + "-")
	errs = append(errs, err)
	for _, name := range existing {
		if !names[name] {
			errs = append(errs, deleteNamespace(name))
		}
	}
	errs = append(errs, h.uplinks.keep(wanted))
	return errors.Join(errs...)
}
