package kubetest

import (
	"net"
	"sync"
	"testing"
)

// given are the addresses that FreeAddress has returned: the kernel gives a closed port to the next who asks.
var given sync.Map

// FreeAddress is a loopback address, host:port, that nobody listens on and that no other call of this program returned.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if _, again := given.LoadOrStore(address, true); !again {
			return address
		}
	}
}

// FreePort is the port of a FreeAddress.
func FreePort(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
