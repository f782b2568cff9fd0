// Package sni reads the name that a TLS client asks for, and leaves the connection to who answers it. The router of the product and the
// sandbox use it.
package sni

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
)

var errRead = errors.New("the client hello is read")

// ErrNoName is the answer to a client that speaks no TLS, or asks for no name.
var ErrNoName = errors.New("no TLS server name")

// Read parses a client hello with the standard library. It returns the name and everything that it has read, which who answers has to get
// before the rest of the connection. The client gets no answer. Deadlines are the caller's.
func Read(ctx context.Context, conn net.Conn) (name string, read []byte, err error) {
	var buffer bytes.Buffer
	err = tls.Server(mute{Conn: conn, reader: io.TeeReader(conn, &buffer)}, &tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errRead
		}}).HandshakeContext(ctx)
	if !errors.Is(err, errRead) || name == "" {
		return "", nil, ErrNoName
	}
	return name, buffer.Bytes(), nil
}

// mute swallows the alert that the handshake, which is not gone on with, would send.
type mute struct {
	net.Conn
	reader io.Reader
}

func (m mute) Read(p []byte) (int, error)  { return m.reader.Read(p) }
func (m mute) Write(p []byte) (int, error) { return len(p), nil }
func (m mute) Close() error                { return nil }
