package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/hypershift-on-azure/hypershift/internal/dashboard"
	"github.com/hypershift-on-azure/hypershift/internal/dashboard/signin"

	corev1 "k8s.io/api/core/v1"
)

// dashboardPeriod is how often each browser that follows is looked for.
const dashboardPeriod = 5 * time.Second

type dashboardConfig struct {
	namespace, listenAddr, certDir string
}

func dashboardCommand() *cobra.Command {
	var c dashboardConfig
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show hosted clusters to browsers of people who sign in, with their rights",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDashboard(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.namespace, "namespace", "hypershift", "namespace of the operator and of ExternalDNS")
	flags.StringVar(&c.listenAddr, "listen-addr", ":8443", "address that takes TLS connections")
	flags.StringVar(&c.certDir, "cert-dir", "", "folder with tls.crt and tls.key, which are read again when they change")
	if err := cmd.MarkFlagRequired("cert-dir"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

func runDashboard(ctx context.Context, c dashboardConfig) error {
	handler := slog.NewJSONHandler(os.Stderr, nil)
	slog.SetDefault(slog.New(handler))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	door, err := signin.New(config)
	if err != nil {
		return err
	}
	certificates, err := certwatcher.New(filepath.Join(c.certDir, corev1.TLSCertKey), filepath.Join(c.certDir, corev1.TLSPrivateKeyKey))
	if err != nil {
		return fmt.Errorf("read the certificate of --cert-dir %s: %w", c.certDir, err)
	}
	watched := make(chan error, 1)
	go func() { watched <- certificates.Start(ctx) }()
	plain, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listenAddr)
	if err != nil {
		return fmt.Errorf("listen for connections: %w", err)
	}
	server := &http.Server{
		Handler: dashboard.New(dashboard.Options{Operator: c.namespace, Admit: door.Admit, SignIn: door.Pages(), Now: time.Now, Tick: tick}), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	// A signal ends what follows, too: a stream waits for its browser for ever.
	context.AfterFunc(ctx, func() { _ = server.Close() })
	slog.Info("serving", "address", plain.Addr().String())
	if err := server.Serve(tls.NewListener(plain, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificates.GetCertificate})); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the dashboard stopped: %w", err)
	}
	return <-watched
}

func tick(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(dashboardPeriod):
		return nil
	}
}
