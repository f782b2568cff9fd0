package proxy

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

// authority writes a certificate, of an authority or not, and returns a pool with it.
func authority(t *testing.T, isCA bool) (pool *x509.CertPool, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(cert)
	return pool, certFile, keyFile
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHosts(t *testing.T) {
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, name+" "+r.Host) })
	}
	h := Hosts{Local: map[string]http.Handler{"login.test": named("login"), "*.blob.test": named("blob"), "special.blob.test": named("special")},
		Forward: map[string]string{"quay.test": "127.0.0.1:5000", "*.quay.test": "127.0.0.1:5001"}}
	for host, want := range map[string]string{
		"login.test": "login login.test", "LOGIN.test": "login LOGIN.test", "login.test:443": "login login.test", "a.blob.test": "blob a.blob.test",
		"special.blob.test": "special special.blob.test",
		"blob.test":         "", "a.b.blob.test": "", "other.test": "", "notlogin.test": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "https://x/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if misdirected := w.Code == http.StatusMisdirectedRequest; misdirected != (want == "") || !misdirected && w.Body.String() != want {
			t.Errorf("%s: %d %s, want %q", host, w.Code, w.Body, want)
		}
	}
	for host, target := range map[string]string{"quay.test": "127.0.0.1:5000", "quay.test.": "127.0.0.1:5000", "cdn.QUAY.test": "127.0.0.1:5001",
		"login.test": "", "a.b.quay.test": ""} {
		if got := h.forward(host); got != target {
			t.Errorf("%s is forwarded to %q, want %q", host, got, target)
		}
	}
	if !h.Known("a.blob.test") || !h.Known("quay.test") || h.Known("none.test") {
		t.Error("what the table has")
	}
}

// A certificate is of the authority, for one host, and made once.
func TestCertificates(t *testing.T) {
	pool, certFile, keyFile := authority(t, true)
	m, err := LoadMinter(certFile, keyFile)
	must(t, err)
	for host, bad := range map[string]string{"acct.blob.core.windows.net": "other.blob.core.windows.net", "127.0.0.1": "127.0.0.2"} {
		c, err := m.Certificate(host)
		must(t, err)
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if c.Leaf.VerifyHostname(bad) == nil {
			t.Errorf("the certificate of %s is good for %s", host, bad)
		}
		if again, err := m.Certificate(host); err != nil || again != c {
			t.Errorf("%s: another one each time", host)
		}
		c.Leaf.NotAfter = time.Now().Add(leafLife/2 - time.Hour)
		if renewed, err := m.Certificate(host); err != nil || renewed == c {
			t.Errorf("%s: one that is half over is not renewed", host)
		}
	}
	if _, err := m.Certificate(""); err == nil {
		t.Error("a certificate for nobody")
	}
	_, certFile, keyFile = authority(t, false)
	if _, err := LoadMinter(certFile, keyFile); err == nil {
		t.Error("a certificate that is no authority's makes others")
	}
	if _, err := LoadMinter(certFile, "none"); err == nil {
		t.Error("without a key")
	}
}

// running is a proxy with one host of its own and one network, in which an echo listens.
func running(t *testing.T) (address, echo string, pool *x509.CertPool) {
	t.Helper()
	pool, certFile, keyFile := authority(t, true)
	m, err := LoadMinter(certFile, keyFile)
	must(t, err)
	log, err := access.Open(t.TempDir())
	must(t, err)
	back, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() {
		for {
			c, err := back.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line, _ := bufio.NewReader(c).ReadString('\n')
				fmt.Fprint(c, "echo "+line)
			}()
		}
	}()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	local := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "plane of "+r.Host) })
	inside, outside := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.1")
	resolve := func(host string) []netip.Addr {
		return map[string][]netip.Addr{"inside.test": {inside}, "both.test": {outside, inside}, "outside.test": {outside}}[host]
	}
	p := New(Config{Hosts: Hosts{Local: map[string]http.Handler{"plane.test": local}, Forward: map[string]string{"forward.test": back.Addr().String()}},
		Minter: m, Resolve: resolve,
		Tunnels: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: log})
	done := make(chan error, 1)
	go func() { done <- p.Run(t.Context(), []net.Listener{front}, nil) }()
	t.Cleanup(func() { // the context of the test has ended
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		_ = back.Close()
		_ = log.Close()
	})
	return front.Addr().String(), back.Addr().String(), pool
}

// tunnel asks for a way to a target, sending early what does not wait for the answer.
func tunnel(t *testing.T, proxy, target, early string) (net.Conn, *bufio.Reader, int) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n"+early)
	must(t, err)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	must(t, err)
	return c, r, resp.StatusCode
}

// A CONNECT leads into the sandbox's networks, to what is forwarded and to the planes, and nowhere else.
func TestWhereTunnelsLead(t *testing.T) {
	proxy, echo, pool := running(t)
	_, port, err := net.SplitHostPort(echo)
	must(t, err)
	for target, status := range map[string]int{
		"inside.test:" + port: 200, "127.0.0.1:" + port: 200, "both.test:" + port: 200, "forward.test:443": 200, "forward.test:1": 200,
		"outside.test:" + port: 403, "192.0.2.1:" + port: 403, "none.test:443": 403, "127.0.0.1:1": 502, "inside.test": 400,
	} {
		c, r, got := tunnel(t, proxy, target, "")
		if got != status {
			t.Errorf("%s: %d, want %d", target, got, status)
		}
		if got != 200 {
			continue
		}
		fmt.Fprint(c, "hello\n")
		if line, err := r.ReadString('\n'); line != "echo hello\n" {
			t.Errorf("%s: %q, %v", target, line, err)
		}
	}
	c, r, _ := tunnel(t, proxy, "inside.test:"+port, "early\n") // a client that does not wait
	if line, err := r.ReadString('\n'); line != "echo early\n" {
		t.Errorf("what was sent early: %q, %v", line, err)
	}
	_ = c.Close()
	resp, err := http.Get("http://" + proxy + "/")
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a GET: %s", resp.Status)
	}
	c, r, _ = tunnel(t, proxy, "plane.test:443", "")
	inner := tls.Client(&replayConn{Conn: c, early: peeked(r)}, &tls.Config{ServerName: "plane.test", RootCAs: pool})
	fmt.Fprint(inner, "GET / HTTP/1.1\r\nHost: plane.test:443\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(inner), nil)
	must(t, err)
	if text, _ := io.ReadAll(answer.Body); string(text) != "plane of plane.test" {
		t.Errorf("a plane: %s", text)
	}
	stranger := func(name string) error { // by the name that TLS asks for
		c, _, _ := tunnel(t, proxy, "plane.test:443", "")
		return tls.Client(c, &tls.Config{ServerName: name, RootCAs: x509.NewCertPool()}).Handshake()
	}
	if err := stranger("plane.test"); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a client that does not trust the sandbox: %v", err)
	}
}

func peeked(r *bufio.Reader) []byte {
	early, _ := r.Peek(r.Buffered())
	return early
}
