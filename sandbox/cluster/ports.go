package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// port that a part listens on.
type port struct{ part, network, address string }

var (
	localPorts = []port{{Azure, "tcp", "127.0.0.1:" + ProxyPort}}
	edgePorts  = []port{
		{Azure, "tcp", EdgeIP + ":" + ProxyPort}, {Azure, "tcp", EdgeIP + ":443"}, {Azure, "tcp", EdgeIP + ":53"}, {Azure, "udp", EdgeIP + ":53"},
	}
	clusterPorts = []port{
		{Registry, "tcp", RegistryAddr}, {OwnRegistry, "tcp", OwnRegistryAddr}, {etcd, "tcp", "127.0.0.1:2379"}, {etcd, "tcp", "127.0.0.1:2380"}, {etcd, "tcp", "127.0.0.1:2381"},
		{controllerManager, "tcp", "127.0.0.1:10257"}, {scheduler, "tcp", "127.0.0.1:10259"}, {cloudController, "tcp", "127.0.0.1:10258"},
		{Router, "tcp", RouterIP + ":443"}, {APIServer, "tcp", EdgeIP + ":" + apiPort}, {Kubelet, "tcp", EdgeIP + ":10250"},
		{Kubelet, "tcp", "127.0.0.1:10248"}, {kubeProxy, "tcp", "127.0.0.1:10249"}, {kubeProxy, "tcp", "127.0.0.1:10256"},
	}
)

// BusyPorts returns a finding for each port that somebody else listens on.
// Ports of parts in running, by process number, are their own.
func BusyPorts(azureOnly bool, running map[string]int) []string {
	ports := localPorts
	if !azureOnly {
		ports = slices.Concat(localPorts, edgePorts, clusterPorts)
	}
	var findings []string
	for _, p := range ports {
		if running[p.part] == 0 && p.busy() {
			findings = append(findings, fmt.Sprintf("%s (%s), which the part %s needs, is taken by %s: stop that program", p.address, p.network, p.part, p.holder()))
		}
	}
	return findings
}

// EdgeIsFree tells whether Azure, or the process that is Azure already, can listen on the edge.
func EdgeIsFree(azure int) bool {
	return !slices.ContainsFunc(edgePorts, func(p port) bool { return p.busy() && (azure == 0 || p.holder().pid != azure) })
}

// anyway listens on addresses that the machine does not have yet: somebody who
// listens on all addresses takes those too.
var anyway = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1) })
}}

// busy is false also where listening fails for another reason: the part's own message is better.
func (p port) busy() bool {
	var socket io.Closer
	var err error
	if p.network == "udp" {
		socket, err = anyway.ListenPacket(context.Background(), p.network, p.address)
	} else {
		socket, err = anyway.Listen(context.Background(), p.network, p.address)
	}
	if err == nil {
		_ = socket.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}

// holder is a process; number 0 is one that this user may not see.
type holder struct {
	pid  int
	name string
}

func (h holder) String() string {
	if h.pid == 0 {
		return "a program of another user (sudo ss -lntup shows it)"
	}
	return fmt.Sprintf("%s, process %d", h.name, h.pid)
}

// holder finds the process that listens on a port.
func (p port) holder() holder {
	address, err := netip.ParseAddrPort(p.address)
	if err != nil {
		return holder{}
	}
	for _, table := range []string{p.network, p.network + "6"} {
		// Of this thread: the first one of the process, whose view /proc/net is, may have gone into another network namespace.
		text, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		for _, inode := range listeners(string(text), p.network, address) {
			if pid := socketOwner(inode); pid != 0 {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				return holder{pid: pid, name: strings.TrimSpace(string(name))}
			}
		}
	}
	return holder{}
}

// listeners reads the sockets that take what comes for an address from a table of /proc/net.
func listeners(table, network string, want netip.AddrPort) []string {
	// TCP_LISTEN, and for UDP the state of a socket that is not connected
	state := map[string]string{"tcp": "0A", "udp": "07"}[network]
	const localField, stateField, inodeField = 1, 3, 9
	var inodes []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= inodeField || fields[stateField] != state {
			continue
		}
		host, number, _ := strings.Cut(fields[localField], ":")
		port, err := strconv.ParseUint(number, 16, 16)
		address, known := kernelAddress(host)
		if err == nil && known && uint16(port) == want.Port() && (address == want.Addr() || address.IsUnspecified()) {
			inodes = append(inodes, fields[inodeField])
		}
	}
	return inodes
}

// kernelAddress reads an address as /proc/net shows it: words of four bytes, the lowest first.
func kernelAddress(text string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw)%4 != 0 {
		return netip.Addr{}, false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	address, known := netip.AddrFromSlice(raw)
	return address.Unmap(), known
}

// socketOwner is the first process that has a socket open, 0 if none can be seen.
func socketOwner(inode string) int {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == "socket:["+inode+"]" {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			return pid
		}
	}
	return 0
}
