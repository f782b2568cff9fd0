package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

const netnsDir = "/run/netns"

// namespace is a network namespace that work can be done in.
type namespace struct {
	name   string
	handle netns.NsHandle
}

// openNamespace opens a named namespace and makes it if it is not there; found tells which.
func openNamespace(name string) (ns *namespace, found bool, err error) {
	if h, err := netns.GetFromName(name); err == nil {
		ns = &namespace{name: name, handle: h}
		if ns.do(func() error { return nil }) == nil {
			return ns, true, nil
		}
		h.Close() // the file is left over from before a reboot: no namespace is mounted on it
	}
	if err := os.Remove(filepath.Join(netnsDir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, false, err
	}
	made := make(chan error, 1)
	var handle netns.NsHandle
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is in the new namespace and ends with the goroutine
		var err error
		handle, err = netns.NewNamed(name)
		made <- err
	}()
	if err := <-made; err != nil {
		return nil, false, fmt.Errorf("network namespace %s: %w", name, err)
	}
	return &namespace{name: name, handle: handle}, false, nil
}

// do runs f on a thread that is in the namespace. Sockets and processes made by f belong to the namespace for life.
func (n *namespace) do(f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	if err := netns.Set(n.handle); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("entering network namespace %s: %w", n.name, err)
	}
	result := f()
	if err := netns.Set(home); err != nil {
		return fmt.Errorf("leaving network namespace %s: %w", n.name, err) // the thread stays locked and dies with the goroutine
	}
	runtime.UnlockOSThread()
	return result
}

func (n *namespace) netlink() (*netlink.Handle, error) { return netlink.NewHandleAt(n.handle) }

// dial connects to an IP address from inside the namespace.
func (n *namespace) dial(ctx context.Context, network, address string, from net.Addr) (conn net.Conn, err error) {
	err = n.do(func() error {
		d := net.Dialer{LocalAddr: from}
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

func (n *namespace) listen(address string) (l net.Listener, err error) {
	err = n.do(func() error {
		l, err = net.Listen("tcp4", address)
		return err
	})
	return l, err
}

func (n *namespace) listenPacket(address string) (c net.PacketConn, err error) {
	err = n.do(func() error {
		c, err = net.ListenPacket("udp4", address)
		return err
	})
	return c, err
}

// serve answers HTTP at an address until it is closed.
func (n *namespace) serve(address string, handler http.Handler) (io.Closer, error) {
	listener, err := n.listen(net.JoinHostPort(address, "80"))
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: dnsTimeout}
	go func() { _ = server.Serve(listener) }() // ends when closed
	return server, nil
}

func (n *namespace) close() { n.handle.Close() }

// namespacesWith lists named namespaces by prefix.
func namespacesWith(prefix string) ([]string, error) {
	entries, err := os.ReadDir(netnsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

func deleteNamespace(name string) error {
	err := netns.DeleteNamed(name)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// not mounted: only the file is left
	return os.Remove(filepath.Join(netnsDir, name))
}

// setSysctl writes a kernel setting of the current namespace; settings of absent features are skipped.
func setSysctl(name, value string) error {
	err := os.WriteFile("/proc/sys/"+name, []byte(value), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
