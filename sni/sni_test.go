package sni

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// hello is what a client says first.
func hello(t testing.TB, name string) []byte {
	t.Helper()
	said := &recorder{}
	// The client ends when nobody answers.
	if err := tls.Client(said, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake(); err == nil {
		t.Fatal("a handshake without a server")
	}
	return said.Bytes()
}

// recorder is a connection that answers nothing.
type recorder struct {
	net.Conn
	bytes.Buffer
}

func (r *recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (r *recorder) Write(p []byte) (int, error)      { return r.Buffer.Write(p) }
func (r *recorder) Close() error                     { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// said is a connection whose client has said something, and hears what it is told.
type said struct {
	net.Conn
	reader io.Reader
	heard  bytes.Buffer
}

func (s *said) Read(p []byte) (int, error)  { return s.reader.Read(p) }
func (s *said) Write(p []byte) (int, error) { return s.heard.Write(p) }

// TestReadLosesNothing: what is read and what is left of the connection are together all that the client has said, also where it goes on
// without waiting for an answer.
func TestReadLosesNothing(t *testing.T) {
	first := hello(t, "api.example.com")
	all := append(bytes.Clone(first), bytes.Repeat([]byte("and more"), 1000)...)
	for name, reader := range map[string]io.Reader{"at once": bytes.NewReader(all), "in two parts": io.MultiReader(bytes.NewReader(all[:7]), bytes.NewReader(all[7:]))} {
		conn := &said{reader: reader}
		got, read, err := Read(t.Context(), conn)
		if err != nil || got != "api.example.com" {
			t.Fatalf("%s: %q, %v", name, got, err)
		}
		rest, _ := io.ReadAll(conn)
		if !bytes.Equal(append(bytes.Clone(read), rest...), all) {
			t.Errorf("%s: %d bytes were said, %d read and %d left", name, len(all), len(read), len(rest))
		}
		if conn.heard.Len() > 0 {
			t.Errorf("%s: the client was told %q", name, conn.heard.Bytes())
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string][]byte{"nothing": nil, "no TLS": []byte("GET / HTTP/1.1\r\n\r\n"), "no name": hello(t, ""), "half a hello": hello(t, "x.example.com")[:20]} {
		conn := &said{reader: bytes.NewReader(text)}
		if got, _, err := Read(t.Context(), conn); !errors.Is(err, ErrNoName) || got != "" || conn.heard.Len() > 0 {
			t.Errorf("%s: %q, %v, told %q", name, got, err, conn.heard.Bytes())
		}
	}
}

// FuzzRead: whatever a client says first, what is passed on is what it said.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"a.example.com", "A.Example.COM", strings.Repeat("a", 200) + ".test"} {
		f.Add(hello(f, name))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{22, 3, 1, 255, 255, 1, 0, 255, 251})
	f.Fuzz(func(t *testing.T, text []byte) {
		name, read, err := Read(context.Background(), &said{reader: bytes.NewReader(text)})
		if (err == nil) != (name != "") || err != nil && read != nil || !bytes.HasPrefix(text, read) {
			t.Errorf("%q, %v of %x: read %x", name, err, text, read)
		}
	})
}
