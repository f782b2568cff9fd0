package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

const (
	longestWait = 30 * time.Second // between two starts of a machine that keeps dying
)

// machines boots, stops and removes machines, all at once.
func (h *hypervisor) machines(ctx context.Context) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	each := func(f func() error) { // f takes mu itself
		wg.Go(func() {
			if err := f(); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wanted := map[string]bool{}
	existing := maps.Clone(h.vms)
	for _, m := range h.snap.Machines {
		if m.Host {
			each(func() error {
				mu.Lock()
				defer mu.Unlock()
				return h.report(ctx, feed.Status{ID: m.ID, PowerState: feed.PowerRunning, Provisioning: feed.ProvisioningSucceeded})
			})
			continue
		}
		wanted[strings.ToLower(m.ID)] = true
		v := h.machine(m)
		each(func() error { return h.drive(ctx, m, v, &mu) })
	}
	for id, v := range existing {
		if wanted[id] {
			continue
		}
		each(func() error {
			if err := v.remove(); err != nil {
				return fmt.Errorf("removing machine %s: %w", filepath.Base(v.dir), err)
			}
			h.cfg.Log("machine %s: removed", filepath.Base(v.dir))
			mu.Lock()
			defer mu.Unlock()
			h.mu.Lock()
			delete(h.vms, id)
			h.mu.Unlock()
			delete(h.reported, id)
			return nil
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// machine is the record of a machine; its directory has its name, and a part of its id when another machine has that already.
func (h *hypervisor) machine(m feed.Machine) *vm {
	id := strings.ToLower(m.ID)
	if v := h.vms[id]; v != nil {
		return v
	}
	dir := filepath.Join(h.cfg.Dir, filepath.Base(cmp.Or(m.Name, short(id))))
	for _, other := range h.vms {
		if other.dir == dir {
			dir += "-" + short(id)
			break
		}
	}
	v := &vm{cfg: h.cfg, groups: h.groups, dir: dir, pidfd: -1, record: record{ID: m.ID, VMID: m.VMID}}
	h.mu.Lock()
	h.vms[id] = v
	h.mu.Unlock()
	return v
}

// drive brings one machine to its desired power state.
func (h *hypervisor) drive(ctx context.Context, m feed.Machine, v *vm, mu *sync.Mutex) error {
	say := func(state, message string) error {
		mu.Lock()
		defer mu.Unlock()
		guest := v.provisioning()
		return h.report(ctx, feed.Status{ID: m.ID, PowerState: state, Message: message, Provisioning: guest.State, ProvisioningMessage: guest.Message,
			Console: filepath.Join(v.dir, bootLog)})
	}
	if v.record.VMID != m.VMID { // deleted and made again while nobody looked
		if err := v.remove(); err != nil {
			return fmt.Errorf("removing the machine that %s replaces: %w", m.Name, err)
		}
		v.record = record{ID: m.ID, VMID: m.VMID}
	}
	if fresh := len(v.record.Layers) == 0; v.record.Hollow || fresh && m.Hollow {
		return h.driveHollow(m, v, say)
	}
	running := v.running()
	if running && (!m.Running || m.Generation > v.record.Generation) {
		h.cfg.Log("machine %s: stopping", m.Name)
		if err := v.stop(true); err != nil {
			return err
		}
		running, v.failures = false, 0
	}
	if !m.Running {
		return say(feed.PowerStopped, "")
	}
	if running {
		return errors.Join(h.disksOf(m, v), say(feed.PowerRunning, ""))
	}
	if wait := v.backoff(); wait > 0 {
		time.AfterFunc(wait, h.nudge)
		return say(feed.PowerStarting, "the machine stopped unexpectedly and is started again")
	}
	r := h.routerOf(m)
	if r == nil {
		return fmt.Errorf("machine %s: its network does not exist", m.Name)
	}
	v.started = time.Now()
	v.failures++
	if err := v.boot(m, r); err != nil {
		return errors.Join(fmt.Errorf("booting machine %s: %w", m.Name, err), say(feed.PowerStarting, err.Error()))
	}
	go h.whenDead(v.died)
	h.cfg.Log("machine %s: booted in %s, pid %d", m.Name, time.Since(v.started).Round(time.Millisecond), v.pid)
	return errors.Join(h.disksOf(m, v), say(feed.PowerRunning, ""))
}

// backoff is how long to wait before a machine that keeps dying is started again.
func (v *vm) backoff() time.Duration {
	if time.Since(v.started) > longestWait {
		v.failures = 0
	}
	if v.failures == 0 {
		return 0
	}
	return max(0, time.Until(v.started.Add(min(time.Second<<min(v.failures, 5), longestWait))))
}

func (h *hypervisor) routerOf(m feed.Machine) *router {
	for _, nic := range m.NICs {
		if r := h.routers[strings.ToLower(nic.NetworkID)]; r != nil {
			return r
		}
	}
	return nil
}

// report tells a state once. The caller holds the lock of the reconciliation.
func (h *hypervisor) report(ctx context.Context, status feed.Status) error {
	key := strings.ToLower(status.ID)
	if h.reported[key] == status {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	if err := h.cfg.Source.Report(ctx, status); err != nil {
		return err
	}
	h.reported[key] = status
	return nil
}
