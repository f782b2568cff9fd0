package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/sni"
)

const (
	helloTimeout = 10 * time.Second
	dialTimeout  = 5 * time.Second
	keepAlive    = 30 * time.Second
	acceptPause  = 100 * time.Millisecond
)

// Proxy passes connections through.
type Proxy struct {
	// Endpoints is where EndpointSlices are read, a cache.
	Endpoints client.Reader
	Table     *Table
	// Linger is how long connections are still accepted when the proxy ends: load balancers need a while to learn that it does.
	Linger time.Duration
	// Drain is how long connections may live on after that.
	Drain time.Duration

	open sync.WaitGroup
}

// Serve accepts until the context ends and a little longer, then waits for the connections that are open, but not for ever.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) error {
	// Connections outlive the context by the drain.
	serving, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() {
		time.Sleep(p.Linger)
		_ = listener.Close()
	})
	defer stop()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
			break
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accept a connection: %w", err)
		}
		if err != nil {
			// Too many are open, most likely: those that are must live on.
			slog.Warn("a connection was not accepted", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		p.open.Go(func() { p.serve(serving, conn) })
	}
	drained := make(chan struct{})
	go func() {
		p.open.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(p.Drain):
		cut()
		<-drained
	}
	return nil
}

// serve passes one connection through.
func (p *Proxy) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout))
	host, hello, err := sni.Read(ctx, conn)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	target, ok := p.Table.lookup(strings.ToLower(host))
	if !ok {
		return
	}
	backend, err := p.dial(ctx, target)
	if err != nil {
		slog.Warn("nobody answers behind a Route", "host", host, "service", target.Namespace+"/"+target.Service, "error", err)
		return
	}
	defer backend.Close()
	defer context.AfterFunc(ctx, func() { _ = backend.Close() })()
	if _, err := backend.Write(hello); err != nil {
		return
	}
	splice(conn, backend)
}

// dial tries the ready endpoints in a random order: one may be gone without anybody having said so yet.
func (p *Proxy) dial(ctx context.Context, target Target) (net.Conn, error) {
	addresses, err := p.addresses(ctx, target)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	err = errNoEndpoints
	for _, address := range addresses {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, "tcp", address); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

var errNoEndpoints = errors.New("the Service has no ready endpoint with the Route's port")

func (p *Proxy) addresses(ctx context.Context, target Target) ([]string, error) {
	list := &discoveryv1.EndpointSliceList{}
	selector := client.MatchingLabels{discoveryv1.LabelServiceName: target.Service}
	if err := p.Endpoints.List(ctx, list, client.InNamespace(target.Namespace), selector); err != nil {
		return nil, fmt.Errorf("read the endpoints: %w", err)
	}
	var found []string
	for _, slice := range list.Items {
		port, ok := choose(slice.Ports, target.Port)
		if !ok {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			// Nothing said means ready.
			if ready := endpoint.Conditions.Ready; (ready != nil && !*ready) || len(endpoint.Addresses) == 0 {
				continue
			}
			found = append(found, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(port))))
		}
	}
	return found, nil
}

// choose finds the pods' port by the name or the number that a Route gives.
func choose(ports []discoveryv1.EndpointPort, wanted string) (int32, bool) {
	for _, port := range ports {
		if port.Port == nil {
			continue
		}
		if wanted == "" || strconv.Itoa(int(*port.Port)) == wanted || (port.Name != nil && *port.Name == wanted) {
			return *port.Port, true
		}
	}
	return 0, false
}

// splice copies both ways until both are done; TCP copies within the kernel.
func splice(a, b net.Conn) {
	var wg sync.WaitGroup
	oneWay := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	wg.Go(func() { oneWay(a, b) })
	wg.Go(func() { oneWay(b, a) })
	wg.Wait()
}
