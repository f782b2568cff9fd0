package machine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// TestMain is also the virtual machine's pid 1 and the program that runs in it.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && slices.Equal(os.Args[1:4], []string{"sandbox", "run", "vm-init"}) {
		fmt.Fprintln(os.Stderr, RunInit(os.Args[4:]))
		os.Exit(1)
	}
	if filepath.Base(os.Args[0]) == "helper" {
		if err := helper(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// findings are what a machine saw from inside.
type findings struct {
	Hostname   string
	Metadata   string
	Names      []string
	Reached    map[string]string // address -> what it said
	Blocked    map[string]string // address -> error
	MemTotalKB string
}

// helper runs in the virtual machine: "listen PORT" answers with the host name, "until ADDRESS" tries it for a while, "look OUT NAME
// ADDRESS..." tries things once.
func helper(args []string) error {
	if args[0] == "until" {
		for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
			if _, err := ask(args[1]); err == nil {
				return nil
			}
		}
		return nil // the look tells
	}
	if args[0] == "listen" {
		l, err := net.Listen("tcp4", ":"+args[1])
		if err != nil {
			return err
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			name, _ := os.Hostname()
			fmt.Fprint(c, name)
			c.Close()
		}
	}
	out := findings{Reached: map[string]string{}, Blocked: map[string]string{}}
	out.Hostname, _ = os.Hostname()
	req, _ := http.NewRequest(http.MethodGet, "http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text", nil)
	req.Header.Set("Metadata", "true")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		body, _ := io.ReadAll(resp.Body)
		out.Metadata = string(body)
	}
	out.Names, _ = net.LookupHost(args[2])
	for _, a := range args[3:] {
		said, err := ask(a)
		if err != nil {
			out.Blocked[a] = err.Error()
		} else {
			out.Reached[a] = said
		}
	}
	meminfo, _ := os.ReadFile("/proc/meminfo")
	out.MemTotalKB = strings.Fields(string(meminfo))[1]
	raw, _ := json.Marshal(out)
	return os.WriteFile(args[1], raw, 0o644)
}

func ask(address string) (string, error) {
	c, err := net.DialTimeout("tcp4", address, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	body, err := io.ReadAll(c)
	return string(body), err
}

// fakeFeed is a Source whose state the test sets.
type fakeFeed struct {
	mu      sync.Mutex
	snap    feed.Snapshot
	changed chan struct{}
	states  map[string]string
	guests  map[string]feed.Status // what was said last of the provisioning
}

func (f *fakeFeed) set(change func(*feed.Snapshot)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.snap)
	f.snap.Revision++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeFeed) Watch(ctx context.Context, after uint64) (feed.Snapshot, error) {
	for {
		f.mu.Lock()
		snap, changed := f.snap, f.changed
		f.mu.Unlock()
		if snap.Revision > after {
			raw, _ := json.Marshal(snap)
			var own feed.Snapshot
			return own, json.Unmarshal(raw, &own)
		}
		select {
		case <-ctx.Done():
			return snap, ctx.Err()
		case <-changed:
		}
	}
}

func (f *fakeFeed) Report(_ context.Context, s feed.Status) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[s.ID] = s.PowerState
	if f.guests == nil {
		f.guests = map[string]feed.Status{}
	}
	f.guests[s.ID] = s
	return nil
}

func (f *fakeFeed) provisioning(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guests[id].Provisioning
}

func (f *fakeFeed) state(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states[id]
}

// bed is a hypervisor under test.
type bed struct {
	*testing.T
	cfg     Config
	feed    *fakeFeed
	stop    func()
	fetched atomic.Int32
}

// The addresses are of 198.18.240.0/20, which no sandbox uses: one may run beside the test.
const (
	testEdge     = "198.18.240.1"
	testPublic   = "198.18.241.0/24"
	frontendA    = "198.18.241.1"
	frontendB    = "198.18.241.2"
	testUplinks  = "198.18"
	firstUplink  = 250
	netA, netB   = "/net/a", "/net/b"
	vmA1, vmA2   = "/vm/a1", "/vm/a2"
	vmB1         = "/vm/b1"
	floatPort    = 8080
	translatedAt = 80
)

func requireHost(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: boots virtual machines, and -short was given")
	}
	if os.Geteuid() != 0 || !hasCapability(unix.CAP_NET_ADMIN) || !hasCapability(unix.CAP_SYS_ADMIN) {
		t.Skip("skipped: virtual machines need root with CAP_NET_ADMIN and CAP_SYS_ADMIN")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("skipped: the package nftables is not installed")
	}
}

func newBed(t *testing.T) *bed {
	requireHost(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "machine-test-")
	if err != nil {
		t.Fatal(err)
	}
	packages := systemWithHelper(t, self, filepath.Join(dir, "system"))
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := &bed{T: t, feed: &fakeFeed{changed: make(chan struct{}), states: map[string]string{}}}
	b.cfg = Config{
		Dir: filepath.Join(dir, "machines"), CABundle: filepath.Join(dir, "ca.pem"), System: packages, Self: self, DNSUpstream: b.serveNames(),
		EdgeBridge: "hstedge", EdgeAddress: testEdge + "/24", Prefix: "hst", Uplinks: testUplinks, FirstUplink: firstUplink, PublicIPs: testPublic,
		Source: b.feed, Log: t.Logf,
	}
	t.Cleanup(func() {
		if b.stop != nil {
			b.stop()
		}
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(b.cfg.Dir, "*", bootLog))
			for _, l := range logs {
				text, _ := os.ReadFile(l)
				t.Logf("%s:\n%s", l, text)
			}
		}
		if err := Cleanup(context.Background(), b.cfg); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return b
}

// systemWithHelper are the packages of the operating systems and this program.
func systemWithHelper(t *testing.T, self, dir string) string {
	t.Helper()
	cache := os.Getenv("HYPERSHIFT_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "hypershift-sandbox")
	}
	packages, err := build.MachineSystem(context.Background(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "--archive", packages, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "usr/bin/helper"), raw, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *bed) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, b.cfg) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		b.stop = nil
	}
}

// patience is for what happens at once on a machine that has time.
const patience = time.Minute

func (b *bed) eventually(what string, ok func() bool) {
	b.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	b.Fatalf("not within %s: %s", patience, what)
}

// serveNames is the DNS of the sandbox: every name is an address that tells the asking network.
func (b *bed) serveNames() string {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg).SetReply(q)
		for _, o := range q.IsEdns0().Option {
			if l, ok := o.(*dns.EDNS0_LOCAL); ok && l.Code == feed.DNSOptionVNet && q.Question[0].Qtype == dns.TypeA {
				address := net.IPv4(192, 0, 2, map[string]byte{netA: 1, netB: 2}[string(l.Data)])
				if q.Question[0].Name == "example.com." { // the name of httptest's certificate
					address = net.ParseIP(testEdge)
				}
				answer.Answer = append(answer.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: address})
			}
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	return conn.LocalAddr().String()
}

// serveIgnition serves a configuration on the edge, failing the first request, and returns the user data that merges it.
func (b *bed) serveIgnition(config string) string {
	if err := ensureEdge(mustDefaults(b.T, b.cfg)); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer t0ken":
			w.WriteHeader(http.StatusUnauthorized)
		case b.fetched.Add(1) == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, config)
		}
	}))
	l, err := net.Listen("tcp4", testEdge+":0")
	if err != nil {
		b.Fatal(err)
	}
	server.Listener = l
	server.StartTLS()
	b.Cleanup(server.Close)
	b.cfg.EdgeAllowed = []EdgeEndpoint{{netip.MustParseAddr(testEdge), "tcp", uint16(l.Addr().(*net.TCPAddr).Port)}}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return ignition(map[string]any{
		"version":  "3.2.0",
		"config":   map[string]any{"merge": []any{map[string]any{"source": strings.Replace(server.URL, testEdge, "example.com", 1), "httpHeaders": []any{map[string]any{"name": "Authorization", "value": "Bearer t0ken"}}}}},
		"security": map[string]any{"tls": map[string]any{"certificateAuthorities": []any{map[string]any{"source": dataURL(string(ca))}}}},
	}, nil, nil)
}

func mustDefaults(t *testing.T, c Config) Config {
	t.Helper()
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dataURL(text string) string {
	return "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(text))
}

func ignition(header map[string]any, files map[string]string, units map[string]string) string {
	var fs, us []any
	for path, text := range files {
		fs = append(fs, map[string]any{"path": path, "mode": 0o640, "contents": map[string]any{"source": dataURL(text)}})
	}
	for name, text := range units {
		us = append(us, map[string]any{"name": name, "enabled": true, "contents": text})
	}
	doc := map[string]any{"ignition": header}
	if fs != nil {
		doc["storage"] = map[string]any{"files": fs}
	}
	if us != nil {
		doc["systemd"] = map[string]any{"units": us}
	}
	raw, _ := json.Marshal(doc)
	return string(raw)
}

func listenUnit(extra string) string {
	return "[Unit]\nAfter=network-online.target\n[Service]\n" + extra + "ExecStart=/usr/bin/helper listen 8080\nRestart=always\n[Install]\nWantedBy=multi-user.target\n"
}

func lookUnit(targets ...string) string {
	return "[Unit]\nAfter=listen.service\n[Service]\nType=oneshot\nEnvironment=OUT=/var/findings.json\nExecStartPre=/bin/sh -c 'echo boot >>/var/boots'\n" +
		"ExecStart=/usr/bin/helper look ${OUT} name.example " + strings.Join(targets, " ") + "\n[Install]\nWantedBy=multi-user.target\n"
}

func network(id string) feed.Network {
	allow := feed.SecurityRule{
		Name: "web", Priority: 500, Direction: "Inbound", Access: "Allow", Protocol: "Tcp", SourcePrefixes: []string{"Internet"}, SourcePorts: []string{"*"},
		DestinationPrefixes: []string{"*"}, DestinationPorts: []string{"8080"},
	}
	return feed.Network{ID: id, Name: filepath.Base(id), Prefixes: []string{"10.0.0.0/16"}, Subnets: []feed.Subnet{{
		ID: id + "/subnets/s", Name: "s", Prefix: "10.0.0.0/24", Outbound: true, SecurityGroup: &feed.SecurityGroup{Rules: []feed.SecurityRule{allow}},
	}}}
}

func testMachine(id, network, ip, ignition string) feed.Machine {
	return feed.Machine{
		ID: id, Name: filepath.Base(id), ComputerName: filepath.Base(id), Location: "eastus", Zone: "1", Size: "Standard_D2s_v5", VCPUs: 2, MemoryMiB: 512,
		NICs:       []feed.NIC{{ID: id + "/nic", NetworkID: network, SubnetID: network + "/subnets/s", PrivateIP: ip, Primary: true}},
		CustomData: base64.StdEncoding.EncodeToString([]byte(ignition)), Running: true, Generation: 1,
	}
}

func balancer(frontend, network, machine string) feed.LoadBalancer {
	backends := []feed.Backend{{PrivateIP: "10.0.0.4", NetworkID: network, MachineID: machine}}
	return feed.LoadBalancer{
		ID: "/lb" + network, Frontends: []feed.Frontend{{Name: "f", IP: frontend, Public: true}}, Probes: []feed.Probe{{Name: "p", Protocol: "Tcp", Port: 8080, IntervalSeconds: 5, NumberOfProbes: 2}},
		Rules: []feed.Rule{
			{Name: "float", Frontend: "f", Protocol: "Tcp", FrontendPort: floatPort, BackendPort: floatPort, FloatingIP: true, ProbeName: "p", Backends: backends},
			{Name: "translate", Frontend: "f", Protocol: "Tcp", FrontendPort: translatedAt, BackendPort: 8080, ProbeName: "p", Backends: backends},
		},
	}
}

func (b *bed) findings(name string) (out findings) {
	b.Helper()
	b.eventually(name+" has looked around", func() bool {
		raw, err := os.ReadFile(filepath.Join(b.cfg.Dir, name, "var/findings.json"))
		return err == nil && json.Unmarshal(raw, &out) == nil
	})
	return out
}

func (b *bed) pid(name string) int {
	raw, _ := os.ReadFile(filepath.Join(b.cfg.Dir, name, pidFile))
	pid, _ := strconv.Atoi(strings.Fields(string(raw) + " 0")[0])
	return pid
}

func at(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

func hasCapability(c uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[c/32].Effective&(1<<(c%32)) != 0
}
