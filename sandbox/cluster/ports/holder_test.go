package ports

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const listenVariable = "PORTS_TEST_LISTEN"

// TestListenForOthers is the process that another test starts: it listens until its input ends.
func TestListenForOthers(t *testing.T) {
	network, address, ok := strings.Cut(os.Getenv(listenVariable), " ")
	if !ok {
		t.Skip("a part of TestHolders")
	}
	if network == "udp" {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("listens", c.LocalAddr())
	} else {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("listens", l.Addr())
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// another is a process that listens, and the port that it got.
func another(t *testing.T, network, address string) (pid int, port string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestListenForOthers$")
	cmd.Env = append(os.Environ(), listenVariable+"="+network+" "+address)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, ok := strings.CutPrefix(lines.Text(), "listens "); ok {
			_, port, _ := net.SplitHostPort(at)
			return cmd.Process.Pid, port
		}
	}
	t.Fatal("the other process does not listen")
	return 0, ""
}

// A port is taken by who listens at its address, or at all, on IPv6 too; not by who listens at another address or by the other protocol.
func TestHolders(t *testing.T) {
	for name, c := range map[string]struct {
		network, listens string
		wants            Port
		busy             bool
	}{
		"at the address":       {"tcp", "127.0.0.1:0", Port{"a", "tcp", "127.0.0.1"}, true},
		"at all addresses":     {"tcp4", "0.0.0.0:0", Port{"a", "tcp", "127.0.0.1"}, true},
		"on both families":     {"tcp", "[::]:0", Port{"a", "tcp", "127.0.0.1"}, true},
		"at another address":   {"tcp", "127.0.0.2:0", Port{"a", "tcp", "127.0.0.1"}, false},
		"by UDP":               {"udp", "127.0.0.1:0", Port{"a", "udp", "127.0.0.1"}, true},
		"by UDP, at all":       {"udp", ":0", Port{"a", "udp", "127.0.0.1"}, true},
		"by the other one":     {"udp", "127.0.0.1:0", Port{"a", "tcp", "127.0.0.1"}, false},
		"an address to come":   {"tcp4", "0.0.0.0:0", Port{"a", "tcp", "198.51.100.7"}, true}, // of a bridge that is not there yet
		"another one, to come": {"tcp4", "127.0.0.1:0", Port{"a", "tcp", "198.51.100.7"}, false},
	} {
		pid, port := another(t, c.network, c.listens)
		c.wants.Address = net.JoinHostPort(c.wants.Address, port)
		want := Process{}
		if c.busy {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			want = Process{pid, strings.TrimSpace(string(comm))}
		}
		if busy, holder := c.wants.Busy(), c.wants.Holder(); busy != c.busy || holder != want {
			t.Errorf("%s: busy %v, held by %v, want %v, %v", name, busy, holder, c.busy, want)
		}
	}
}

// A connection has a local port as well, and holds none that a part could want.
func TestConnectionsHoldNoPort(t *testing.T) {
	_, port := another(t, "tcp", "127.0.0.1:0")
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if holder := (Port{"a", "tcp", c.LocalAddr().String()}).Holder(); holder.PID != 0 {
		t.Errorf("held by %v", holder)
	}
}

// What is no address is for the part itself to complain of.
func TestNoAddress(t *testing.T) {
	for _, p := range []Port{{"a", "tcp", "nonsense"}, {"a", "tcp", "127.0.0.1"}, {"a", "udp", "127.0.0.1:70000"}, {"a", "tcp", ""}} {
		if p.Address != "" && p.Busy() || p.Holder().PID != 0 {
			t.Errorf("%+v: busy %v, %v", p, p.Busy(), p.Holder())
		}
	}
	if got := (Process{}).String(); !strings.Contains(got, "another user") || !strings.Contains(got, "ss -lntup") {
		t.Error(got)
	}
	if got := (Process{12, "nginx"}).String(); got != "nginx, process 12" {
		t.Error(got)
	}
}

func TestKernelAddress(t *testing.T) {
	for text, want := range map[string]string{"0100007F": "127.0.0.1", "010012C6": "198.18.0.1", "00000000": "0.0.0.0",
		"00000000000000000000000001000000": "::1",
		"0000000000000000FFFF00000100007F": "127.0.0.1", "B80D0120000000000000000001000000": "2001:db8::1"} {
		if got, ok := kernelAddress(text); !ok || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "01", "0100007", "0100007G", "010000000100007F"} {
		if got, ok := kernelAddress(text); ok {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
	if got := listeners("", "tcp", netip.MustParseAddrPort("127.0.0.1:1")); !slices.Equal(got, nil) {
		t.Errorf("an empty table has %v", got)
	}
}
