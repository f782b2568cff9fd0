package proxy

import (
	"context"
	"io"
	"log"
	"net"

	"time"

	"github.com/hypershift-on-azure/hypershift/sni"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

// quiet drops what net/http has to say about broken handshakes of impatient clients.
var quiet = log.New(io.Discard, "", 0)

// helloTimeout is how long a client may take to say where it wants to go.
const helloTimeout = 10 * time.Second

func (p *Proxy) serveEdge(ctx context.Context, ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go p.route(ctx, c)
	}
}

// route reads the server name and sends the connection, untouched, to its plane or its forward address.
func (p *Proxy) route(ctx context.Context, c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	host, early, err := sni.Read(ctx, c)
	_ = c.SetReadDeadline(time.Time{})
	if err != nil {
		c.Close()
		return
	}
	conn := &replayConn{Conn: c, early: early}
	if target := p.hosts.forward(host); target != "" {
		start := time.Now()
		up, status, err := p.dial(ctx, host, "443")
		p.log.Write(access.Entry{Time: start.UTC(), Plane: "edge", Method: "TLS", URL: host, Status: status, Millis: float64(time.Since(start).Microseconds()) / 1000})
		if err != nil {
			c.Close()
			return
		}
		splice(conn, up)
		return
	}
	if p.hosts.local(host) == nil {
		c.Close()
		return
	}
	p.serveLocal(ctx, conn)
}

// replayConn gives the bytes read so far once more.
type replayConn struct {
	net.Conn
	early []byte
}

func (c *replayConn) Read(b []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(b, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// SetLinger lets a connection be reset instead of closed.
func (c *replayConn) SetLinger(seconds int) error {
	if l, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return l.SetLinger(seconds)
	}
	return nil
}

// CloseWrite passes a half-close on.
func (c *replayConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Conn.Close()
}

// chanListener accepts connections that others hand over.
type chanListener struct {
	conns <-chan net.Conn
	done  <-chan struct{}
	addr  net.Addr
}

func (l *chanListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *chanListener) Close() error   { return nil }
func (l *chanListener) Addr() net.Addr { return l.addr }
