package twin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// health is what a checker knows of itself.
type health struct{ reached atomic.Bool }

// serve answers what is asked of the program's port. Certificates are read anew for each connection: they are renewed.
func (p Program) serve(ctx context.Context, s Start, given command, state *health) error {
	mux := http.NewServeMux()
	for _, path := range slices.Concat(answered, p.Serves.Also) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			switch {
			case path == "/readyz" && !state.reached.Load():
				http.Error(w, "twin: not every API server has answered yet", http.StatusServiceUnavailable)
			case path == "/metrics":
				_, _ = fmt.Fprintf(w, "# HELP twin_checker A checker stands where this program would.\n# TYPE twin_checker gauge\ntwin_checker{program=%q} 1\n", p.Name)
			default:
				_, _ = fmt.Fprintln(w, "ok")
			}
		})
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if len(p.Groups) > 0 {
		apis, err := p.apis(ctx, s, given)
		if err != nil {
			return err
		}
		mux.Handle("/apis/", apis)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf(":%d", p.Serves.Port))
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	if p.Serves.Certificate != "" {
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				cert, err := tls.LoadX509KeyPair(p.Serves.Certificate, p.Serves.Key)
				return &cert, err
			}})
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("twin: %w", err)
	}
	return nil
}

// answerConnections accepts connections and closes them, where a protocol is spoken that no checker speaks.
func answerConnections(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	for {
		connection, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("twin: %w", err)
		}
		_ = connection.Close()
	}
}
