package prober

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// agentAddress is where every agent of the tunnel serves its own health: what is there when an agent is.
	agentAddress = "127.0.0.1:2041"
	// tunnelPatience bounds the wait: agents that find no new server, or have all gone meanwhile, must not keep an API server from
	// starting.
	tunnelPatience = time.Minute
)

// Tunnel says how to find out whether agents have found a konnectivity server.
type Tunnel struct {
	// Own is the server to wait for, host:port: until it listens, and then for its agents.
	Own string
	// Others is where those answer that are in use: without agents of theirs there is nothing to wait for.
	Others string
	// CAFile, CertFile and KeyFile are for both.
	CAFile, CertFile, KeyFile string
}

func (t *Tunnel) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&t.Own, "tunnel", "", "konnectivity server, host:port, that must listen, and have agents if --tunnel-of-others has any; waits for these at most "+tunnelPatience.String())
	flags.StringVar(&t.Others, "tunnel-of-others", "", "where the konnectivity servers in use answer, host:port")
	flags.StringVar(&t.CAFile, "tunnel-ca-file", "", "certificate authorities of the konnectivity servers")
	flags.StringVar(&t.CertFile, "tunnel-cert-file", "", "client certificate for the konnectivity servers")
	flags.StringVar(&t.KeyFile, "tunnel-key-file", "", "key of that certificate")
}

func (t Tunnel) wait(ctx context.Context, patience time.Duration) error {
	config, err := clientConfig(t.CAFile, t.CertFile, t.KeyFile)
	if err != nil {
		return err
	}
	if err := wait(ctx, "konnectivity server "+t.Own, func(ctx context.Context) error { return listens(ctx, t.Own) }); err != nil {
		return err
	}
	logger := log.FromContext(ctx).WithValues("waitingFor", "agents of the tunnel")
	attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := connects(attempt, config, t.Others); err != nil {
		logger.Info("not waiting: no other server has any", "reason", err.Error())
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = wait(limited, "agents of the tunnel", func(ctx context.Context) error { return connects(ctx, config, t.Own) })
	if err != nil && ctx.Err() == nil {
		logger.Info("starting without them", "after", patience.String())
		return nil
	}
	return err
}

// listens tells whether somebody takes connections at an address.
func listens(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("reach %s: %w", address, err)
	}
	return conn.Close()
}

var errNoAgent = errors.New("no agent answers")

// connects tells whether the server reaches an agent.
func connects(ctx context.Context, config *tls.Config, server string) error {
	dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return fmt.Errorf("konnectivity server %s: %w", server, err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", agentAddress); err != nil {
		return fmt.Errorf("ask konnectivity server %s for a tunnel: %w", server, err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("ask konnectivity server %s for a tunnel: %w", server, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("konnectivity server %s: %w: %s", server, errNoAgent, response.Status)
	}
	return nil
}
