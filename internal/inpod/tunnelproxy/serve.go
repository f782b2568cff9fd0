package tunnelproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/things-go/go-socks5"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// headerTimeout bounds how long a client may take to say what it wants.
const headerTimeout = 30 * time.Second

// RunHTTP serves the HTTP proxy until ctx ends.
func RunHTTP(ctx context.Context, o Options) error {
	return serve(ctx, o, func(ctx context.Context, listener net.Listener, d *dialer) error {
		server := &http.Server{Handler: newHandler(d), ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
		context.AfterFunc(ctx, func() { server.Close() })
		return server.Serve(listener)
	})
}

// RunSOCKS serves the SOCKS5 proxy until ctx ends.
func RunSOCKS(ctx context.Context, o Options) error {
	return serve(ctx, o, func(ctx context.Context, listener net.Listener, d *dialer) error {
		context.AfterFunc(ctx, func() { listener.Close() })
		return newSOCKS(ctx, d).Serve(listener)
	})
}

func serve(ctx context.Context, o Options, with func(context.Context, net.Listener, *dialer) error) error {
	d, err := o.dialer()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.Port))))
	if err != nil {
		return fmt.Errorf("listen for the pod's programs: %w", err)
	}
	if err := with(ctx, listener, d); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the pod's programs: %w", err)
	}
	return nil
}

// handler is a proxy for HTTP CONNECT, and for plain HTTP.
type handler struct {
	dialer  *dialer
	forward *httputil.ReverseProxy
}

func newHandler(d *dialer) *handler {
	transport := &http.Transport{
		// Compression is between the two ends.
		DisableCompression: true,
		DialContext:        func(ctx context.Context, _, address string) (net.Conn, error) { return d.dial(ctx, "http", address) },
	}
	return &handler{dialer: d, forward: &httputil.ReverseProxy{Transport: transport, Rewrite: func(*httputil.ProxyRequest) {}}}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		h.connect(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		http.Error(w, "this is a proxy: ask for a whole http URL, or with CONNECT", http.StatusBadRequest)
		return
	}
	h.forward.ServeHTTP(w, r)
}

func (h *handler) connect(w http.ResponseWriter, r *http.Request) {
	target, err := h.dialer.dial(r.Context(), "https", r.Host)
	if err != nil {
		ctrllog.FromContext(r.Context()).Info("no connection", "to", r.Host, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer target.Close()
	client, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	splice(client, ahead, target)
}

// splice carries both ways until both are done, or one has failed.
func splice(client net.Conn, fromClient io.Reader, target net.Conn) {
	ended := make(chan error, 2)
	carry := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			err = half.CloseWrite()
		}
		ended <- err
	}
	go carry(target, fromClient)
	go carry(client, target)
	if err := <-ended; err != nil {
		return
	}
	<-ended
}

// unresolved leaves names to the dialer.
type unresolved struct{}

func (unresolved) Resolve(ctx context.Context, _ string) (context.Context, net.IP, error) {
	return ctx, nil, nil
}

func newSOCKS(ctx context.Context, d *dialer) *socks5.Server {
	return socks5.NewServer(
		socks5.WithResolver(unresolved{}),
		// Neither waiting for connections nor datagrams: the tunnel carries none.
		socks5.WithRule(&socks5.PermitCommand{EnableConnect: true}),
		socks5.WithLogger(socks5.NewLogger(log.New(&lines{ctx}, "", 0))),
		socks5.WithDialAndRequest(func(ctx context.Context, _, _ string, request *socks5.Request) (net.Conn, error) {
			wanted := request.RawDestAddr
			host := wanted.FQDN
			if host == "" {
				host = wanted.IP.String()
			}
			return d.dial(ctx, "https", net.JoinHostPort(host, strconv.Itoa(wanted.Port)))
		}),
	)
}

// lines passes the SOCKS5 server's words on to the log of the program.
type lines struct{ ctx context.Context }

func (l *lines) Write(text []byte) (int, error) {
	if errors.Is(l.ctx.Err(), context.Canceled) {
		return len(text), nil
	}
	ctrllog.FromContext(l.ctx).Info("no connection", "reason", strings.TrimSpace(string(text)))
	return len(text), nil
}
