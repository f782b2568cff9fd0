package sandbox

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
)

// runAzure serves the embedded Azure: on 127.0.0.1, and with edge also where
// pods and virtual machines reach it.
func runAzure(ctx context.Context, c cluster.Config, edge bool) error {
	secret, err := cluster.ClientSecret(c.Dir)
	if err != nil {
		return err
	}
	config := azure.Config{
		Dir:       filepath.Join(c.Dir, "azure"),
		ProxyAddr: "127.0.0.1:" + cluster.ProxyPort,
		CACert:    c.CA(), CAKey: filepath.Join(c.Dir, "pki", "ca.key"),
		Subscription: cluster.SubscriptionID, Tenant: cluster.TenantID, Location: cluster.Location,
		ServicePrincipal: azure.ServicePrincipal{ClientID: cluster.ClientID, Secret: secret},
		Forward:          map[string]string{"quay.io": cluster.RegistryAddr, "*.quay.io": cluster.RegistryAddr},
	}
	if !edge {
		return azure.Run(ctx, config)
	}
	local := config.ProxyAddr
	config.ProxyAddr = cluster.EdgeIP + ":" + cluster.ProxyPort
	config.EdgeAddr, config.DNSAddr = cluster.EdgeIP+":443", cluster.EdgeIP+":53"
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return azure.Run(ctx, config) })
	g.Go(func() error { return relay(ctx, local, config.ProxyAddr) })
	return g.Wait()
}

// relay passes the connections to one address on to another.
func relay(ctx context.Context, from, to string) error {
	listener, err := net.Listen("tcp", from)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		client, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go pass(ctx, client, to)
	}
}

func pass(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var wg sync.WaitGroup
	wg.Go(func() { copyHalf(server, client) })
	wg.Go(func() { copyHalf(client, server) })
	wg.Wait()
}

// copyHalf copies one direction and passes its end on.
func copyHalf(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}
