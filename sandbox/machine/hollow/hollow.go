// Package hollow is machines without an operating system, for scale: many of them in one process. A hollow machine has a network of its own and goes
// the way of a real one to the hosted cluster: it fetches its configuration with its token, asks for a certificate with what that
// configuration has, waits for the approval, registers a Node of its provider id and keeps the Node's lease. It runs no kubelet and no
// containers, and says so: its Node is tainted and annotated, and pods that are put on it all the same stay Pending. Such a pod that is
// deleted goes, since nothing of it runs.
package hollow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// Taint is on the Node of a hollow machine, and keeps pods away.
	Taint = "sandbox.hypershift/hollow"
	// note is the message of the Node's conditions, and the value of its annotation Taint.
	note = "a hollow machine of the sandbox: no kubelet, no containers"

	again         = 3 * time.Second // after a failure
	connectWithin = 5 * time.Second
)

// Dial connects from the machine: to an address, since a name means what the machine's name server says.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Machine is a hollow machine.
type Machine struct {
	Name            string // of the machine, and so of its Node
	Dir             string // keeps the configuration and the certificate; only for its owner
	CustomData      []byte // an Ignition document, as Azure hands it over
	Address         string
	VCPUs           int
	MemoryMiB       int
	NameServer      string // ADDRESS:PORT
	MetadataService string // ADDRESS:PORT
	Dial            Dial
	Booted          func() error // called once the configuration is there
	Log             func(format string, args ...any)
}

// Run is the life of the machine, from power on until ctx ends. What fails is logged and tried again for ever, as on a real one.
func (m *Machine) Run(ctx context.Context) {
	var c *configuration
	if !m.until(ctx, "configuration", func() (err error) { c, err = m.configure(ctx); return err }) {
		return
	}
	if !m.until(ctx, "report to Azure", m.Booted) {
		return
	}
	var facts *instance
	if !m.until(ctx, "metadata", func() (err error) { facts, err = m.instance(ctx); return err }) {
		return
	}
	m.until(ctx, "node", func() error { return m.join(ctx, c, facts) })
}

// until does something until it works, and tells whether it did before ctx ended. An error is logged once, not each time.
func (m *Machine) until(ctx context.Context, what string, do func() error) bool {
	said := ""
	for {
		err := do()
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			m.Log("%s: done", what)
			return true
		}
		if text := err.Error(); text != said {
			m.Log("%s: %v; tried again every %s", what, err, again)
			said = text
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}

// dialNames connects to names, which it asks the machine's name server for.
func (m *Machine) dialNames(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses := []string{host}
	if net.ParseIP(host) == nil {
		if addresses, err = m.resolve(ctx, host); err != nil {
			return nil, err
		}
	}
	var failed []error
	for _, a := range addresses {
		within, cancel := context.WithTimeout(ctx, connectWithin)
		conn, err := m.Dial(within, network, net.JoinHostPort(a, port))
		cancel()
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("reaching %s: %w", host, errors.Join(failed...))
}
