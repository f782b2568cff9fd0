package machine

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/hollow"
)

// hollowRun is a hollow machine that runs: a network namespace, and goroutines of this process. Both end with the hypervisor, and begin
// again with it.
type hollowRun struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// driveHollow brings a hollow machine to its desired power state.
func (h *hypervisor) driveHollow(m feed.Machine, v *vm, say func(state, message string) error) error {
	if v.hollow != nil && (!m.Running || m.Generation > v.record.Generation) {
		if err := v.stopHollow(); err != nil {
			return err
		}
	}
	if !m.Running {
		return say(feed.PowerStopped, "")
	}
	if v.hollow != nil {
		return say(feed.PowerRunning, "")
	}
	r := h.routerOf(m)
	if r == nil {
		return fmt.Errorf("machine %s: its network does not exist", m.Name)
	}
	booted := func() error { return h.note(m, guestReport{VMID: m.VMID, State: feed.ProvisioningSucceeded}) }
	if err := v.bootHollow(m, r, booted); err != nil {
		return errors.Join(fmt.Errorf("booting hollow machine %s: %w", m.Name, err), say(feed.PowerStarting, err.Error()))
	}
	h.cfg.Log("machine %s: booted, hollow", m.Name)
	return say(feed.PowerRunning, "")
}

func (v *vm) hollowNamespace() string { return v.cfg.hollowPrefix() + short(v.record.ID) }

// hollowPrefix begins the names of namespaces of hollow machines, and is none of those of routers.
func (c Config) hollowPrefix() string { return c.Prefix + "h-" }

// bootHollow connects a namespace with the network as a machine would be, and lets the machine run in it.
func (v *vm) bootHollow(m feed.Machine, r *router, booted func() error) error {
	v.record.Hollow, v.record.Generation = true, m.Generation
	nic, subnet, err := placement(m, r.network)
	if err != nil {
		return err
	}
	custom, err := base64.StdEncoding.DecodeString(m.CustomData)
	if err != nil {
		return fmt.Errorf("custom data of machine %s: %w", m.Name, err)
	}
	if err := v.write(m, nic, subnet); err != nil {
		return err
	}
	ns, _, err := openNamespace(v.hollowNamespace())
	if err != nil {
		return err
	}
	if err := v.plugHollow(r, ns, nic, subnet); err != nil {
		ns.close()
		return fmt.Errorf("network link: %w", err)
	}
	console, err := os.OpenFile(filepath.Join(v.dir, bootLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		ns.close()
		return err
	}
	machine := &hollow.Machine{
		Name: m.ComputerName, Dir: v.dir, CustomData: custom, Address: nic.PrivateIP, VCPUs: m.VCPUs, MemoryMiB: m.MemoryMiB,
		NameServer: net.JoinHostPort(azureAddress, "53"), MetadataService: net.JoinHostPort(metadataAddress, "80"), Booted: booted,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return ns.dial(ctx, network, address, nil)
		},
		Log: func(format string, args ...any) {
			fmt.Fprintf(console, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &hollowRun{cancel: cancel, ended: make(chan struct{})}
	v.hollow = run
	go func() {
		defer close(run.ended)
		defer console.Close()
		defer ns.close()
		machine.Run(ctx)
	}()
	return nil
}

// plugHollow gives the namespace the machine's eth0, with its address and its way out.
func (v *vm) plugHollow(r *router, ns *namespace, nic feed.NIC, subnet feed.Subnet) error {
	if err := v.plug(r, netlink.NsFd(ns.handle), nic.MAC); err != nil {
		return err
	}
	nl, err := ns.netlink()
	if err != nil {
		return err
	}
	defer nl.Close()
	prefix, err := netip.ParsePrefix(subnet.Prefix)
	if err != nil {
		return err
	}
	link, err := nl.LinkByName("eth0")
	if err != nil {
		return err
	}
	if err := addAddress(nl, link, fmt.Sprintf("%s/%d", nic.PrivateIP, prefix.Bits())); err != nil {
		return err
	}
	for _, name := range []string{"lo", "eth0"} {
		if err := linkUp(nl, name); err != nil {
			return err
		}
	}
	return nl.RouteReplace(&netlink.Route{Gw: gateway(prefix).AsSlice()})
}

// stopHollow ends the machine and its network. It may be of an earlier hypervisor, of which only the network is left.
func (v *vm) stopHollow() error {
	if v.hollow != nil {
		v.hollow.cancel()
		<-v.hollow.ended
		v.hollow = nil
	}
	return removeHollow(v.hollowNamespace())
}

// removeHollow takes the link away before the namespace: the kernel keeps a namespace for its last connections.
func removeHollow(name string) error {
	if _, err := os.Stat(filepath.Join(netnsDir, name)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	ns, _, err := openNamespace(name)
	if err != nil {
		return err
	}
	defer ns.close()
	nl, err := ns.netlink()
	if err != nil {
		return err
	}
	defer nl.Close()
	if link, err := nl.LinkByName("eth0"); err == nil {
		if err := nl.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
	}
	return deleteNamespace(name)
}
