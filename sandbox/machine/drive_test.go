package machine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/cgroup"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/guest"
)

// hostless is a hypervisor that has no network and no groups: what it decides before it touches the host.
func hostless(t *testing.T) (*hypervisor, *fakeFeed) {
	t.Helper()
	f := &fakeFeed{changed: make(chan struct{}), states: map[string]string{}}
	cfg, err := Config{Dir: t.TempDir(), Source: f, Log: t.Logf}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return &hypervisor{cfg: cfg, routers: map[string]*router{}, vms: map[string]*vm{}, reported: map[string]feed.Status{}, kick: make(chan struct{}, 1)}, f
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for failures, want := range map[int]time.Duration{0: 0, 1: 2 * time.Second, 2: 4 * time.Second, 4: 16 * time.Second, 5: longestWait, 50: longestWait} {
			v := &vm{started: time.Now(), failures: failures}
			if got := v.backoff(); got != want {
				t.Errorf("after %d failures: %s, want %s", failures, got, want)
			}
		}
		v := &vm{started: time.Now(), failures: 2}
		time.Sleep(3 * time.Second)
		if got := v.backoff(); got != time.Second {
			t.Errorf("3 s of 4 s are over: %s are left", got)
		}
		time.Sleep(longestWait)
		if v.backoff() != 0 || v.failures != 0 {
			t.Errorf("a machine that ran for longer than the longest wait still has %d failures", v.failures)
		}
	})
}

func TestDrive(t *testing.T) {
	machine := func(change func(*feed.Machine)) feed.Machine {
		m := feed.Machine{ID: "/vm/W", VMID: "one", Name: "w", Running: true}
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		m           feed.Machine
		record      record
		failures    int
		state, fail string
		removed     bool
	}{
		"off and to be off":           {machine(func(m *feed.Machine) { m.Running = false }), record{VMID: "one"}, 0, feed.PowerStopped, "", false},
		"a network that is not there": {machine(func(m *feed.Machine) { m.NICs = []feed.NIC{{NetworkID: "/n"}} }), record{VMID: "one"}, 0, "", "its network does not exist", false},
		"it died a moment ago":        {machine(func(*feed.Machine) {}), record{VMID: "one"}, 3, feed.PowerStarting, "", false},
		"made again by the same name": {machine(func(m *feed.Machine) { m.Running = false }), record{VMID: "before"}, 0, feed.PowerStopped, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			h, f := hostless(t)
			dir := filepath.Join(h.cfg.Dir, "w")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			v := &vm{cfg: h.cfg, dir: dir, pidfd: -1, record: c.record, started: time.Now(), failures: c.failures}
			var mu sync.Mutex
			err := h.drive(t.Context(), c.m, v, &mu)
			if c.fail == "" && err != nil || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
				t.Errorf("error %v, want %q", err, c.fail)
			}
			if got := f.state(c.m.ID); got != c.state {
				t.Errorf("reported %q, want %q", got, c.state)
			}
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) != c.removed {
				t.Errorf("the directory is gone: %v, want %v", errors.Is(err, os.ErrNotExist), c.removed)
			}
			if v.record.VMID != "one" {
				t.Errorf("the record is of %q", v.record.VMID)
			}
		})
	}
}

// A machine's disk is in the directory of its name. Two machines of one name, in two resource groups, must not share it.
func TestDirectories(t *testing.T) {
	h, _ := hostless(t)
	a := h.machine(feed.Machine{ID: "/rg/1/vm/W", Name: "w"})
	b := h.machine(feed.Machine{ID: "/rg/2/vm/w", Name: "w"})
	if again := h.machine(feed.Machine{ID: "/RG/1/vm/w", Name: "w"}); again != a {
		t.Error("ids differ by their case alone, and there are two machines")
	}
	if a.dir == b.dir || filepath.Base(a.dir) != "w" {
		t.Errorf("directories %s and %s", a.dir, b.dir)
	}
	if out := h.machine(feed.Machine{ID: "/rg/3/vm/x", Name: "../../etc"}); filepath.Dir(out.dir) != h.cfg.Dir {
		t.Errorf("a name leads out of the folder: %s", out.dir)
	}
}

func TestReportsAreSentOnce(t *testing.T) {
	h, f := hostless(t)
	report := func(state, message string) string {
		f.mu.Lock()
		delete(f.states, "/vm/w")
		f.mu.Unlock()
		if err := h.report(t.Context(), feed.Status{ID: "/vm/w", PowerState: state, Message: message}); err != nil {
			t.Fatal(err)
		}
		return f.state("/vm/w")
	}
	for i, c := range []struct{ state, message, want string }{
		{feed.PowerStarting, "", feed.PowerStarting}, {feed.PowerStarting, "", ""}, {feed.PowerStarting, "again", feed.PowerStarting}, {feed.PowerRunning, "", feed.PowerRunning},
	} {
		if got := report(c.state, c.message); got != c.want {
			t.Errorf("report %d of %q, %q: sent %q, want %q", i, c.state, c.message, got, c.want)
		}
	}
}

func TestPlacement(t *testing.T) {
	n := feed.Network{Name: "n", Subnets: []feed.Subnet{{ID: "/s/a", Prefix: "10.0.0.0/24"}, {ID: "/s/b", Prefix: "10.0.1.0/24"}}}
	for name, c := range map[string]struct {
		nics []feed.NIC
		want string // subnet, "" for an error
	}{
		"the primary one":                {[]feed.NIC{{SubnetID: "/s/b"}, {SubnetID: "/S/A", Primary: true}}, "/s/a"},
		"none is primary: the last":      {[]feed.NIC{{SubnetID: "/s/a"}, {SubnetID: "/s/b"}}, "/s/b"},
		"in a subnet of another network": {[]feed.NIC{{SubnetID: "/s/c", Primary: true}}, ""},
		"none at all":                    {nil, ""},
	} {
		_, s, err := placement(feed.Machine{Name: "w", NICs: c.nics}, n)
		if s.ID != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: subnet %q, %v", name, s.ID, err)
		}
	}
}

// What pid 1 reads decides what the machine is.
func TestWhatAMachineIsGiven(t *testing.T) {
	h, _ := hostless(t)
	v := &vm{cfg: h.cfg, dir: filepath.Join(h.cfg.Dir, "w"), pidfd: -1, record: record{ID: "/vm/w", VMID: "one", Layers: []string{"image"}}, groups: []cgroup.Hierarchy{{Name: "cpu", Options: "cpu,cpuacct"}, {Options: "cgroup2"}}}
	m := feed.Machine{Name: "w", VCPUs: 2, MemoryMiB: 8192, CustomData: base64.StdEncoding.EncodeToString([]byte("{}"))}
	nic, subnet := feed.NIC{PrivateIP: "10.0.0.7"}, feed.Subnet{Prefix: "10.0.0.0/24"}
	if err := v.write(m, nic, subnet); err != nil {
		t.Fatal(err)
	}
	var spec guest.Spec
	raw, err := os.ReadFile(filepath.Join(v.dir, guest.SpecFile))
	if err != nil || json.Unmarshal(raw, &spec) != nil {
		t.Fatal(err)
	}
	if spec.Hostname != "w" || spec.Address != "10.0.0.7/24" || spec.Gateway != "10.0.0.1" || spec.DNS != azureAddress || spec.VCPUs != 2 || spec.MemoryMiB != 8192 || spec.Layers[0] != "image" || len(spec.Controllers) != 1 {
		t.Errorf("%+v", spec)
	}
	if info, err := os.Stat(filepath.Join(v.dir, guest.CustomDataFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("user data is for pid 1 alone: %v, %v", info.Mode(), err)
	}
	again, err := loadVM(h.cfg, v.groups, v.dir)
	if err != nil || !reflect.DeepEqual(again.record, v.record) || again.running() {
		t.Errorf("read again: %+v, %v", again, err)
	}
	for name, wrong := range map[string]func(){
		"the address":     func() { nic.PrivateIP = "10.0.0" },
		"the subnet":      func() { subnet.Prefix = "10.0.0.0" },
		"the custom data": func() { m.CustomData = "{" },
	} {
		nic, subnet, m.CustomData = feed.NIC{PrivateIP: "10.0.0.7"}, feed.Subnet{Prefix: "10.0.0.0/24"}, ""
		if wrong(); v.write(m, nic, subnet) == nil {
			t.Errorf("%s is wrong, and a machine is written", name)
		}
	}
}

// A hypervisor that starts again finds its machines by a process number, which may be another process's by now.
func TestAdoption(t *testing.T) {
	for name, c := range map[string]struct {
		record string // of the process; START is its true start time
		adopts bool
	}{
		"the process":                  {"PID START", true},
		"another one with its number":  {"PID 1", false},
		"a record that was cut short":  {"", false},
		"a process that is no more":    {"2147483600 5", false},
		"a record that is half a line": {"PID", false},
	} {
		t.Run(name, func(t *testing.T) {
			process := exec.CommandContext(context.WithoutCancel(t.Context()), "sleep", "60")
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = process.Wait(); close(ended) }()
			t.Cleanup(func() { _ = process.Process.Kill(); <-ended })
			start, err := startTime(process.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := hostless(t)
			dir := filepath.Join(h.cfg.Dir, "w")
			text := strings.NewReplacer("PID", strconv.Itoa(process.Process.Pid), "START", start).Replace(c.record)
			if err := errors.Join(os.Mkdir(dir, 0o700), writeFile(filepath.Join(dir, recordFile), `{"id":"/vm/w"}`, 0o644), writeFile(filepath.Join(dir, pidFile), text+"\n", 0o644)); err != nil {
				t.Fatal(err)
			}
			v, err := loadVM(h.cfg, nil, dir)
			if err != nil || v.running() != c.adopts {
				t.Fatalf("adopted: %v, want %v (%v)", v.running(), c.adopts, err)
			}
			if err := v.halt(true); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
				if !c.adopts {
					t.Error("a process that is not the machine's was ended")
				}
			case <-time.After(100 * time.Millisecond):
				if c.adopts {
					t.Error("the machine's process runs on after its halt")
				}
			}
			if _, err := os.Stat(filepath.Join(dir, pidFile)); !errors.Is(err, os.ErrNotExist) {
				t.Error("the record of the process is left")
			}
		})
	}
}

// A backend goes down after as many failures as the probe says, in a row, and is up again with the first success.
func TestProbesInARow(t *testing.T) {
	for name, c := range map[string]struct {
		answers string // + is well, - is not; the last one is repeated
		trust   bool
		want    string // state after each second: u is up, d is down
	}{
		"new and well":           {"+", false, "uuuu"},
		"new and unwell":         {"-", false, "dddd"},
		"trusted at first":       {"-", true, "uudd"},
		"one failure is none":    {"+-+", false, "uuuu"},
		"failures with a pause":  {"+--+--+", false, "uuuuuuu"},
		"three in a row":         {"+---", false, "uuudd"},
		"up with the first":      {"+---+", false, "uuudu"},
		"down, and failing once": {"---+-+", false, "dddu"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				p := newProber(nil, c.trust, func() {})
				p.dial = func(context.Context, string, string, net.Addr) (net.Conn, error) {
					answer := c.answers[min(asked, len(c.answers)-1)]
					asked++
					if answer == '-' {
						return nil, errUnhealthy
					}
					ours, theirs := net.Pipe()
					theirs.Close()
					return ours, nil
				}
				key := probeKey{Backend: netip.MustParseAddr("10.0.0.4"), Protocol: "tcp", Port: 80}
				ctx, cancel := context.WithCancel(t.Context())
				p.want(ctx, map[probeKey]feed.Probe{key: {NumberOfProbes: 3, IntervalSeconds: 1}})
				got := ""
				for range c.want {
					synctest.Wait()
					got += map[bool]string{true: "u", false: "d"}[p.healthy(key)]
					time.Sleep(time.Second)
				}
				if got != c.want {
					t.Errorf("states %s, want %s", got, c.want)
				}
				p.want(ctx, nil)
				if p.healthy(key) {
					t.Error("a probe that nobody wants goes on being healthy")
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// The DNS of the sandbox learns which network asks; the machine gets an answer of the size, and with the extensions, that it asked for.
func TestDNSIsForwarded(t *testing.T) {
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 8)
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		network := ""
		for _, o := range q.IsEdns0().Option {
			if local, ok := o.(*dns.EDNS0_LOCAL); ok && local.Code == feed.DNSOptionVNet {
				network = string(local.Data)
			}
		}
		seen <- network
		answer := new(dns.Msg).SetReply(q)
		for i := range 40 {
			answer.Answer = append(answer.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(10, 0, 0, byte(i))})
		}
		answer.SetEdns0(4096, false)
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	for _, edns := range []bool{false, true} {
		t.Run(fmt.Sprint("EDNS ", edns), func(t *testing.T) {
			q := new(dns.Msg).SetQuestion("api.example.", dns.TypeA)
			if edns {
				q.SetEdns0(4096, false)
			}
			answer, err := forwardDNS(q, "/n/a", "udp", packets.LocalAddr().String())
			if err != nil {
				t.Fatal(err)
			}
			if got := <-seen; got != "/n/a" {
				t.Errorf("asked in the name of %q", got)
			}
			if (answer.IsEdns0() != nil) != edns {
				t.Errorf("EDNS in the answer: %v", answer.IsEdns0())
			}
			if !edns && (answer.Len() > dns.MinMsgSize || !answer.Truncated) {
				t.Errorf("%d bytes for a client that takes %d, truncated: %v", answer.Len(), dns.MinMsgSize, answer.Truncated)
			}
			if opt := q.IsEdns0(); opt != nil && len(opt.Option) > 0 {
				t.Errorf("the question of the client was changed: %v", opt)
			}
		})
	}
}

func TestUplinkNames(t *testing.T) {
	cfg := Config{Prefix: "hs"}
	for name, ours := range map[string]bool{"hsu0": true, "hsu255": true, "hsu": false, "hsux": false, "hsu1a": false, "eth0": false, "hstu1": false} {
		if isUplink(cfg, name) != ours {
			t.Errorf("%s is ours: %v, want %v", name, !ours, ours)
		}
	}
}
