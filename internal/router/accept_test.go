package router

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// scarce is a listener that once cannot accept, as when a process has too many files open.
type scarce struct {
	net.Listener
	refused atomic.Bool
}

func (s *scarce) Accept() (net.Conn, error) {
	if s.refused.CompareAndSwap(false, true) {
		return nil, errors.New("accept: too many open files")
	}
	return s.Listener.Accept()
}

// TestScarcityPasses: what is open lives on when a connection cannot be accepted, and the next one is.
func TestScarcityPasses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- (&Proxy{Table: &Table{}}).Serve(ctx, &scarce{Listener: listener}) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("this is no TLS at all")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	// It was accepted, or nobody would hang up.
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatal("the connection was never accepted")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
