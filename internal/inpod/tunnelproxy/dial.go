package tunnelproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// dialTimeout bounds how long a connection takes to be there; then it lasts as long as both ends want.
const dialTimeout = 30 * time.Second

// cloudDomains are the hosts of Azure's own APIs and sign-in, in all its clouds.
var cloudDomains = []string{
	".azure.com", ".microsoftonline.com", ".windows.net", ".azure.net",
	".azure.us", ".microsoftonline.us", ".usgovcloudapi.net",
	".azure.cn", ".chinacloudapi.cn", ".partner.microsoftonline.cn",
}

func isCloud(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, domain := range cloudDomains {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}

type dialFunc func(ctx context.Context, address string) (net.Conn, error)

// dialer decides which way a connection takes.
type dialer struct {
	tunnel, direct dialFunc
	directToCloud  bool
	// users tells which proxy in the guest's network an URL takes; nil is none.
	users func(*url.URL) (*url.URL, error)
	// names, when set, knows addresses of names; others are left to the other end of the tunnel.
	names *names
}

// dial connects to a host and port for the scheme, which the user's proxy may differ by.
func (d *dialer) dial(ctx context.Context, scheme, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no host and port: %w", address, err)
	}
	if d.directToCloud && isCloud(host) {
		return d.direct(ctx, address)
	}
	if d.users != nil {
		proxy, err := d.users(&url.URL{Scheme: scheme, Host: address})
		if err != nil {
			return nil, fmt.Errorf("find the hosted cluster's proxy for %s: %w", address, err)
		}
		if proxy != nil {
			return throughProxy(ctx, d.tunnel, proxy, address)
		}
	}
	if d.names != nil && net.ParseIP(host) == nil {
		if found := d.names.resolve(ctx, host); found != "" {
			host = found
		}
	}
	return d.tunnel(ctx, net.JoinHostPort(host, port))
}

// tunnel is the konnectivity server, as a proxy for HTTP CONNECT.
type tunnel struct {
	address string
	config  func() (*tls.Config, error)
}

func (t *tunnel) dial(ctx context.Context, address string) (net.Conn, error) {
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, fmt.Errorf("reach the konnectivity server %s: %w", t.address, err)
	}
	return connect(ctx, conn, address, nil)
}

// direct reaches an address by the process's own proxy, if it has one.
func direct(own *httpproxy.Config) dialFunc {
	proxyOf := own.ProxyFunc()
	plain := func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		proxy, err := proxyOf(&url.URL{Scheme: "https", Host: address})
		if err != nil {
			return nil, fmt.Errorf("find the way to %s: %w", address, err)
		}
		if proxy == nil {
			return plain(ctx, address)
		}
		return throughProxy(ctx, plain, proxy, address)
	}
}

// throughProxy connects to the proxy with dial, and has it connect to the address.
func throughProxy(ctx context.Context, dial dialFunc, proxy *url.URL, address string) (net.Conn, error) {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[proxy.Scheme]
	}
	if port == "" {
		return nil, fmt.Errorf("proxy %s has neither a port nor the scheme http or https", proxy.Redacted())
	}
	conn, err := dial(ctx, net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("reach proxy %s: %w", proxy.Redacted(), err)
	}
	if proxy.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, fmt.Errorf("reach proxy %s: %w", proxy.Redacted(), err)
		}
		conn = secure
	}
	return connect(ctx, conn, address, proxy.User)
}

// connect asks the proxy at the other end for the address, and gives the connection on.
func connect(ctx context.Context, conn net.Conn, address string, user *url.Userinfo) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	reader := bufio.NewReader(conn)
	response, err := func() (*http.Response, error) {
		if err := request.Write(conn); err != nil {
			return nil, err
		}
		return http.ReadResponse(reader, request)
	}()
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy answers %s", response.Status)
	}
	if err != nil {
		stop()
		conn.Close()
		if response != nil {
			response.Body.Close()
		}
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &buffered{Conn: conn, reader: reader}, nil
}

// buffered reads first what came with the proxy's answer.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b *buffered) Read(into []byte) (int, error) { return b.reader.Read(into) }

// CloseWrite tells the other end that nothing more comes; what it still sends is read.
func (b *buffered) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return b.Close()
}
