// Package serve runs an HTTPS server of a pod until the pod ends.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	graceTimeout  = 5 * time.Second
)

// HTTPS serves the handler at a port, with a certificate from files, until the context ends. The configuration may be nil.
func HTTPS(ctx context.Context, port int, certFile, keyFile string, config *tls.Config, handler http.Handler) error {
	address := fmt.Sprintf(":%d", port)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", address, err)
	}
	server := &http.Server{Handler: handler, TLSConfig: config, ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, certFile, keyFile) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", address, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end the server: %w", err)
	}
	return nil
}
