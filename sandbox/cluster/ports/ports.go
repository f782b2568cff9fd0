// Package ports finds who listens where a part of the sandbox wants to.
package ports

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

// Port that a part listens on.
type Port struct{ Part, Network, Address string }

// anyway listens on addresses that the machine does not have yet: somebody who
// listens on all addresses takes those too.
var anyway = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1) })
}}

// Busy is false also where listening fails for another reason: the part's own message is better.
func (p Port) Busy() bool {
	var socket io.Closer
	var err error
	if p.Network == "udp" {
		socket, err = anyway.ListenPacket(context.Background(), p.Network, p.Address)
	} else {
		socket, err = anyway.Listen(context.Background(), p.Network, p.Address)
	}
	if err == nil {
		_ = socket.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}

// Process is a process; number 0 is one that this user may not see.
type Process struct {
	PID  int
	Name string
}

func (h Process) String() string {
	if h.PID == 0 {
		return "a program of another user (sudo ss -lntup shows it)"
	}
	return fmt.Sprintf("%s, process %d", h.Name, h.PID)
}

// Holder finds the process that listens on a port.
func (p Port) Holder() Process {
	address, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return Process{}
	}
	for _, table := range []string{p.Network, p.Network + "6"} {
		// Of this thread: the first one of the process, whose view /proc/net is, may have gone into another network namespace.
		text, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		for _, inode := range listeners(string(text), p.Network, address) {
			if pid := socketOwner(inode); pid != 0 {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				return Process{PID: pid, Name: strings.TrimSpace(string(name))}
			}
		}
	}
	return Process{}
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
