package tunnelproxy

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/proxy"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// konnectivity stands in for the konnectivity server with a guest behind it: hosts are where its names and addresses really are.
type konnectivity struct {
	mu    sync.Mutex
	asked []string
	hosts map[string]string
}

func (k *konnectivity) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	k.asked = append(k.asked, r.Host)
	real, known := k.hosts[r.Host]
	k.mu.Unlock()
	if r.Method != http.MethodConnect || !known {
		http.Error(w, "nobody knows "+r.Host, http.StatusServiceUnavailable)
		return
	}
	target, err := net.Dial("tcp", real)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer target.Close()
	client, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
	splice(client, ahead, target)
}

func (k *konnectivity) wasAsked() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.asked...)
}

// begin starts a konnectivity server that lets in who has a certificate of its authority, and returns options that lead to it.
func (k *konnectivity) begin(t *testing.T) Options {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "konnectivity"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, kind string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	o := Options{CAFile: file("ca.crt", "CERTIFICATE", raw), CertFile: file("tls.crt", "CERTIFICATE", raw), KeyFile: file("tls.key", "PRIVATE KEY", private)}
	pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	server := httptest.NewUnstartedServer(k)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
	server.StartTLS()
	t.Cleanup(server.Close)
	address := server.Listener.Addr().(*net.TCPAddr)
	o.Host, o.ServerPort = "127.0.0.1", uint16(address.Port)
	return o
}

// greeter answers a line with it, and ends when the other side has.
func greeter(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				all, _ := io.ReadAll(conn)
				fmt.Fprintf(conn, "you said %s", all)
			}()
		}
	}()
	return listener.Addr().String()
}

// converse says something, tells that nothing more comes, and hears the answer.
func converse(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(conn); err != nil || string(heard) != "you said hello" {
		t.Errorf("heard %q, %v", heard, err)
	}
}

func start(t *testing.T, d *dialer, with func(context.Context, net.Listener, *dialer) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go with(t.Context(), listener, d)
	return listener.Addr().String()
}

func httpProxy(ctx context.Context, listener net.Listener, d *dialer) error {
	return (&http.Server{Handler: newHandler(d)}).Serve(listener)
}

func socksProxy(ctx context.Context, listener net.Listener, d *dialer) error {
	return newSOCKS(ctx, d).Serve(listener)
}

func mustDialer(t *testing.T, o Options) *dialer {
	t.Helper()
	d, err := o.dialer()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a program asks the HTTP proxy for arrives in the guest under the name that it used, both ways and to the end.
func TestHTTPProxy(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", r.Host, r.URL) }))
	defer web.Close()
	k := &konnectivity{hosts: map[string]string{"greeter.guest:7": greeter(t), "web.guest:80": web.Listener.Addr().String()}}
	address := start(t, mustDialer(t, k.begin(t)), httpProxy)

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "CONNECT greeter.guest:7 HTTP/1.1\r\nHost: greeter.guest:7\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	converse(t, &buffered{Conn: conn, reader: reader})

	through := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address})}}
	answer, err := through.Get("http://web.guest/path?q=1")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != "web.guest /path?q=1" {
		t.Errorf("the guest's web server was asked for %q", text)
	}
	if refused, err := through.Get("https://unknown.guest/"); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("an unknown host: %v, %v", refused, err)
	}
	alone, err := http.Get("http://" + address + "/")
	if err != nil || alone.StatusCode != http.StatusBadRequest {
		t.Errorf("what is no request to a proxy: %v, %v", alone, err)
	}
}

// A name of a Service of the guest becomes its address; others arrive as they are; nothing but connections is served.
func TestSOCKSProxy(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "catalog", Namespace: "olm"}, Spec: corev1.ServiceSpec{ClusterIP: "172.31.0.9"}}
	headless := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "headless", Namespace: "olm"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}}
	there := greeter(t)
	k := &konnectivity{hosts: map[string]string{"172.31.0.9:50051": there, "headless.olm.svc:1": there, "node.guest:1": there, "10.0.0.4:1": there}}
	d := mustDialer(t, k.begin(t))
	d.names = &names{guest: fake.NewClientset(service, headless), dial: d.tunnel}
	address := start(t, d, socksProxy)
	client, err := proxy.SOCKS5("tcp", address, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"catalog.olm.svc:50051", "catalog.olm.svc.cluster.local:50051", "headless.olm.svc:1", "node.guest:1", "10.0.0.4:1"} {
		conn, err := client.Dial("tcp", wanted)
		if err != nil {
			t.Errorf("%s: %v", wanted, err)
			continue
		}
		converse(t, conn)
	}
	if conn, err := client.Dial("tcp", "unknown.guest:1"); err == nil {
		conn.Close()
		t.Error("an unknown host is connected")
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 4)
	// No authentication, then: let me have datagrams.
	if _, err := conn.Write([]byte{5, 1, 0, 5, 3, 0, 1, 127, 0, 0, 1, 0, 80}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, answer); err != nil || answer[3] != 2 {
		t.Errorf("datagrams: %v, %v", answer, err)
	}
}

// The guest's DNS is asked through the tunnel; the management cluster's only for what nobody in the guest knows.
func TestNamesOfTheGuestsDNS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		answer := new(dns.Msg).SetReply(r)
		if q := r.Question[0]; q.Name == "idp.corp.example." {
			text := map[uint16]string{dns.TypeA: "A 192.0.2.7", dns.TypeAAAA: "AAAA 2001:db8::7"}[q.Qtype]
			record, err := dns.NewRR(q.Name + " 60 IN " + text)
			if err != nil {
				t.Error(err)
			}
			answer.Answer = append(answer.Answer, record)
		} else {
			answer.Rcode = dns.RcodeNameError
		}
		w.WriteMsg(answer)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	k := &konnectivity{hosts: map[string]string{"172.31.0.10:53": listener.Addr().String()}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "dns-default", Namespace: "openshift-dns"}, Spec: corev1.ServiceSpec{ClusterIP: "172.31.0.10"}}
	n := &names{guest: fake.NewClientset(service), dial: mustDialer(t, k.begin(t)).tunnel, fromGuest: true, preferIPv4: true}
	if got := n.resolve(t.Context(), "idp.corp.example"); got != "192.0.2.7" {
		t.Errorf("the guest's name is %q", got)
	}
	if got := n.resolve(t.Context(), "nobody.example"); got != "" {
		t.Errorf("an unknown name is %q", got)
	}
	if len(k.wasAsked()) == 0 {
		t.Error("the guest's DNS was not asked through the tunnel")
	}
	n.fromManagement, n.management = true, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	}}
	n.fromGuest = false
	if got := n.resolve(t.Context(), "idp.corp.example"); got != "192.0.2.7" {
		t.Errorf("the management cluster's name is %q", got)
	}
}

// Azure's own hosts, and no others, are reached without the tunnel where that is asked for.
func TestDirectToCloud(t *testing.T) {
	way := func(d *dialer, host string) string {
		taken := ""
		through := func(name string) dialFunc {
			return func(context.Context, string) (net.Conn, error) { taken = name; return nil, io.EOF }
		}
		d.tunnel, d.direct = through("tunnel"), through("direct")
		if _, err := d.dial(t.Context(), "https", host+":443"); err == nil {
			t.Error("a connection that nobody made")
		}
		return taken
	}
	for host, want := range map[string]string{"login.microsoftonline.com": "direct", "MANAGEMENT.azure.com.": "direct", "dns.azure.us": "direct",
		"login.azure.com.example": "tunnel", "idp.example.com": "tunnel", "notazure.com": "tunnel"} {
		if got := way(&dialer{directToCloud: true}, host); got != want {
			t.Errorf("%s is reached by %s, want %s", host, got, want)
		}
	}
	if got := way(&dialer{}, "management.azure.com"); got != "tunnel" {
		t.Errorf("without being asked, Azure is reached by %s", got)
	}
}

// The user's proxy is in the guest: it is reached through the tunnel, and told who asks.
func TestUsersProxy(t *testing.T) {
	var header string
	there := greeter(t)
	users := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Proxy-Authorization")
		(&konnectivity{hosts: map[string]string{"idp.example.com:443": there}}).ServeHTTP(w, r)
	}))
	defer users.Close()
	k := &konnectivity{hosts: map[string]string{"squid.guest:3128": users.Listener.Addr().String(), "inside.guest:443": there}}
	o := k.begin(t)
	o.HTTPSProxy, o.NoProxy = "http://me:secret@squid.guest:3128", ".guest"
	d := mustDialer(t, o)
	for _, wanted := range []string{"idp.example.com:443", "inside.guest:443"} {
		conn, err := d.dial(t.Context(), "https", wanted)
		if err != nil {
			t.Fatalf("%s: %v", wanted, err)
		}
		converse(t, conn)
	}
	if header != "Basic bWU6c2VjcmV0" {
		t.Errorf("the user's proxy was told %q", header)
	}
	if got := fmt.Sprint(k.wasAsked()); got != "[squid.guest:3128 inside.guest:443]" {
		t.Errorf("the tunnel was asked for %s", got)
	}
	_, err := d.dial(t.Context(), "https", "unknown.example:443")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an error that tells the password, or none: %v", err)
	}
}

// A process's own proxy takes what goes straight out.
func TestOwnProxy(t *testing.T) {
	there := greeter(t)
	own := httptest.NewServer(&konnectivity{hosts: map[string]string{"management.azure.com:443": there}})
	defer own.Close()
	t.Setenv("HTTPS_PROXY", own.URL)
	t.Setenv("NO_PROXY", "")
	k := &konnectivity{}
	o := k.begin(t)
	o.DirectToCloud = true
	conn, err := mustDialer(t, o).dial(t.Context(), "https", "management.azure.com:443")
	if err != nil {
		t.Fatal(err)
	}
	converse(t, conn)
	if asked := k.wasAsked(); len(asked) != 0 {
		t.Errorf("the tunnel was asked for %v", asked)
	}
}

// Who has no certificate of the tunnel's, or does not trust the server, is told which file it is.
func TestCertificates(t *testing.T) {
	o := (&konnectivity{}).begin(t)
	for name, change := range map[string]func(*Options){
		"authorities": func(o *Options) { o.CAFile += ".none" },
		"empty":       func(o *Options) { o.CAFile = o.KeyFile },
		"key":         func(o *Options) { o.KeyFile += ".none" },
	} {
		changed := o
		change(&changed)
		if _, err := mustDialer(t, changed).dial(t.Context(), "https", "a:1"); err == nil || !strings.Contains(err.Error(), filepath.Dir(o.CAFile)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mustDialer(t, o).dial(t.Context(), "https", "a:1"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("what the server says: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"nowhere": {}, "no port": {Host: "a"}, "no kubeconfig": {Host: "a", ServerPort: 1, FromGuestDNS: true},
		"kubeconfig is gone": {Host: "a", ServerPort: 1, Kubeconfig: "/nonexistent"},
	} {
		if _, err := o.dialer(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if d, err := (Options{Host: "a", ServerPort: 1, Kubeconfig: "/nonexistent", NoResolver: true}).dialer(); err != nil || d.names != nil {
		t.Errorf("without a resolver: %v", err)
	}
}

// Both programs listen on the pod's own address alone, and end with their context.
func TestRun(t *testing.T) {
	for name, run := range map[string]func(context.Context, Options) error{"http": RunHTTP, "socks": RunSOCKS} {
		o := (&konnectivity{}).begin(t)
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.Port = uint16(free.Addr().(*net.TCPAddr).Port)
		free.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, o) }()
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.Port)))
		for {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
				break
			}
			select {
			case err := <-ended:
				t.Fatalf("%s: %v", name, err)
			default:
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
