package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"

	"github.com/hypershift-on-azure/hypershift/sandbox/cgroup"
	"github.com/hypershift-on-azure/hypershift/sandbox/listing"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// Cleanup removes everything of the hypervisor: what Halt does, and the machines with their disks. Doing it twice is no error.
func Cleanup(ctx context.Context, config Config) error {
	if err := take(ctx, config, false); err != nil {
		return err
	}
	return os.RemoveAll(config.Dir)
}

// Halt powers all machines off and removes networks, rules, routes, groups and the edge bridge. The machines' directories stay: at the next Run they
// boot again, from their disks. It works from what it finds, so it may follow a crash. The hypervisor must not be running.
func Halt(ctx context.Context, config Config) error { return take(ctx, config, true) }

// take takes everything from the host but the directories. Softly, machines are told to power off before they are killed.
func take(ctx context.Context, config Config, softly bool) error {
	cfg, err := config.withDefaults()
	if err != nil {
		return err
	}
	groups, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	errs := []error{haltMachines(cfg, groups, softly), newDiskStore(cfg.Dir).release(nil)}
	names, err := namespacesWith(cfg.Prefix + "-")
	errs = append(errs, err)
	for _, name := range names {
		errs = append(errs, deleteNamespace(name))
	}
	hollows, err := namespacesWith(cfg.hollowPrefix())
	errs = append(errs, err)
	for _, name := range hollows {
		errs = append(errs, removeHollow(name))
	}
	links, err := listing.Complete(netlink.LinkList)
	errs = append(errs, err)
	for _, l := range links {
		if name := l.Attrs().Name; isUplink(cfg, name) || name == cfg.EdgeBridge {
			errs = append(errs, deleteLink(name))
		}
	}
	for _, g := range cgroup.With(groups, cfg.Prefix+"-") {
		errs = append(errs, cgroup.Remove(groups, g))
	}
	errs = append(errs, nftable.Remove(ctx, "inet "+cfg.table()))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cleaning up after the hypervisor: %w", err)
	}
	return nil
}

// isUplink knows our links from others with the same first letters: a number follows.
func isUplink(cfg Config, name string) bool {
	number, ok := strings.CutPrefix(name, cfg.uplinkPattern())
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// haltMachines ends all machines at once.
func haltMachines(cfg Config, groups []cgroup.Hierarchy, softly bool) error {
	records, err := filepath.Glob(filepath.Join(cfg.Dir, "*", recordFile))
	if err != nil {
		return err
	}
	errs := make([]error, len(records))
	var wg sync.WaitGroup
	for i, path := range records {
		wg.Go(func() {
			v, err := loadVM(cfg, groups, filepath.Dir(path))
			if err == nil {
				err = v.halt(softly)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
