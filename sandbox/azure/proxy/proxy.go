package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

// Resolve finds the addresses of a host that the table does not have.
type Resolve func(host string) []netip.Addr

// Proxy serves the hosts of a table.
type Proxy struct {
	hosts   Hosts
	minter  *Minter
	resolve Resolve
	tunnels []netip.Prefix // where CONNECT may lead
	log     *access.Log
	inner   chan net.Conn // connections to the local planes, before their TLS handshake
}

// Config of a proxy.
type Config struct {
	Hosts   Hosts
	Minter  *Minter
	Resolve Resolve
	Tunnels []netip.Prefix
	Log     *access.Log
}

// New makes a proxy; Run must be running for it to answer.
func New(c Config) *Proxy {
	return &Proxy{hosts: c.Hosts, minter: c.Minter, resolve: c.Resolve, tunnels: c.Tunnels, log: c.Log, inner: make(chan net.Conn)}
}

// timeouts of connections.
const (
	headerTimeout = 30 * time.Second
	idleTimeout   = 3 * time.Minute
	dialTimeout   = 10 * time.Second
)

// Run serves CONNECT on the listeners and, when given, TLS by server name on the edge, until ctx ends.
func (p *Proxy) Run(ctx context.Context, connect []net.Listener, edge net.Listener) error {
	planes := &http.Server{Handler: p.hosts, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: quiet}
	front := &http.Server{Handler: http.HandlerFunc(p.connect), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: quiet}
	failed := make(chan error, len(connect)+2)
	inner := &chanListener{conns: p.inner, done: ctx.Done(), addr: connect[0].Addr()}
	go func() { failed <- planes.Serve(tls.NewListener(inner, p.tlsConfig())) }()
	for _, l := range connect {
		go func() { failed <- front.Serve(l) }()
	}
	if edge != nil {
		go func() { failed <- p.serveEdge(ctx, edge) }()
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	_ = front.Close()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = planes.Shutdown(stop) // requests that are under way get their answer
	if edge != nil {
		_ = edge.Close()
	}
	return err
}

func (p *Proxy) tlsConfig() *tls.Config {
	// As Azure's front doors do, so that a client needs no handshake per call under way.
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return p.minter.Certificate(h.ServerName)
	}}
}

// connect answers one CONNECT request.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if r.Method != http.MethodConnect {
		http.Error(w, "This is the proxy of the sandbox. It takes CONNECT only: use https.", http.StatusMethodNotAllowed)
		return
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, "CONNECT needs host:port", http.StatusBadRequest)
		return
	}
	if p.hosts.local(host) != nil {
		if c := hijack(w); c != nil {
			p.serveLocal(r.Context(), c)
		}
		return
	}
	up, status, err := p.dial(r.Context(), host, port)
	p.log.Write(access.Entry{Time: start.UTC(), Plane: "tunnel", Method: r.Method, URL: r.Host, Status: status, UserAgent: r.UserAgent(), Millis: float64(time.Since(start).Microseconds()) / 1000})
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	if c := hijack(w); c != nil {
		splice(c, up)
	} else {
		up.Close()
	}
}

// hijack takes the connection over and says that the tunnel is there.
func hijack(w http.ResponseWriter) net.Conn {
	c, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	_ = c.SetDeadline(time.Time{})
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.Close()
		return nil
	}
	if n := buf.Reader.Buffered(); n > 0 { // a client that did not wait
		early, _ := buf.Reader.Peek(n)
		return &replayConn{Conn: c, early: append([]byte(nil), early...)}
	}
	return c
}

func (p *Proxy) serveLocal(ctx context.Context, c net.Conn) {
	select {
	case p.inner <- c:
	case <-ctx.Done():
		c.Close()
	}
}

// Dial connects the embedded Azure itself to a host of the sandbox, its own planes included: what it asks of them is logged, and goes wrong,
// like what others ask.
func (p *Proxy) Dial(ctx context.Context, host, port string) (net.Conn, error) {
	if p.hosts.local(host) != nil {
		client, server := net.Pipe()
		p.serveLocal(ctx, server)
		return client, nil
	}
	c, _, err := p.dial(ctx, host, port)
	return c, err
}

var errRefused = errors.New("refused")

// dial connects to a forwarded host, or to one inside the sandbox's networks.
func (p *Proxy) dial(ctx context.Context, host, port string) (net.Conn, int, error) {
	target := p.hosts.forward(host)
	if target == "" {
		ip, err := p.inside(host)
		if err != nil {
			return nil, http.StatusForbidden, err
		}
		target = net.JoinHostPort(ip.String(), port)
	}
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, http.StatusBadGateway, fmt.Errorf("the sandbox cannot reach %s: %w", host, err)
	}
	return c, http.StatusOK, nil
}

func (p *Proxy) inside(host string) (netip.Addr, error) {
	candidates := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		candidates = append(candidates, ip)
	} else {
		candidates = p.resolve(host)
	}
	if len(candidates) == 0 {
		return netip.Addr{}, fmt.Errorf("%w: no zone of the embedded Azure has %s, and the sandbox does not reach the internet", errRefused, host)
	}
	for _, ip := range candidates {
		for _, n := range p.tunnels {
			if n.Contains(ip) {
				return ip, nil
			}
		}
	}
	return netip.Addr{}, fmt.Errorf("%w: %s is outside the sandbox's networks", errRefused, host)
}

// splice copies both ways until both sides are done; a half-closed side stays readable.
func splice(a, b net.Conn) {
	done := make(chan struct{}, 2)
	one := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		if cw, ok := dst.(interface{ CloseWrite() error }); ok {
			_ = cw.CloseWrite()
		} else {
			_ = dst.Close()
		}
		done <- struct{}{}
	}
	go one(a, b)
	go one(b, a)
	<-done
	<-done
	a.Close()
	b.Close()
}
