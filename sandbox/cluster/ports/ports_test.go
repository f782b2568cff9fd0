package ports

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

func TestListeners(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const rest = " 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 "
	line := func(local, state, inode string) string {
		return " 0: " + local + strings.Replace(rest, "%s", state, 1) + inode + " 2 0000 100\n"
	}
	table := head + line("0100007F:22B8", "0A", "1") + line("00000000:22B8", "0A", "2") + line("0100007F:22B8", "01", "3") + line("0200007F:22B8", "0A", "4") +
		line("0100007F:22B9", "0A", "5") + line("00000000000000000000000000000000:22B8", "0A", "6") + line("0000000000000000FFFF00000100007F:22B8", "0A", "7") +
		line("00000000000000000000000001000000:22B8", "0A", "8") + line("nonsense:22B8", "0A", "9")
	got := listeners(table, "tcp", netip.MustParseAddrPort("127.0.0.1:8888"))
	if want := []string{"1", "2", "6", "7"}; !slices.Equal(got, want) {
		t.Errorf("sockets %v, want %v", got, want)
	}
	if got := listeners(line("00000000:0035", "07", "1"), "udp", netip.MustParseAddrPort("198.18.0.1:53")); !slices.Equal(got, []string{"1"}) {
		t.Errorf("UDP: %v", got)
	}
}

func TestBusyPortNamesItsHolder(t *testing.T) {
	tcp, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	_, number, _ := net.SplitHostPort(tcp.Addr().String())
	for _, p := range []Port{{"a", "tcp", "127.0.0.1:" + number}, {"a", "tcp", names.EdgeIP + ":" + number}, {"a", "udp", udp.LocalAddr().String()}} {
		if !p.Busy() || p.Holder().PID != os.Getpid() || p.Holder().Name == "" {
			t.Errorf("%v: busy %v, held by %v", p, p.Busy(), p.Holder())
		}
	}
	address := tcp.Addr().String()
	tcp.Close()
	if free := (Port{"a", "tcp", address}); free.Busy() || free.Holder().PID != 0 {
		t.Errorf("a closed port is held by %v", free.Holder())
	}
}
