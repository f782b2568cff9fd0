package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hypershift-on-azure/hypershift/internal/router"
)

const routerLinger = 5 * time.Second

type routerConfig struct {
	domain, listenAddr, healthAddr string
	drain                          time.Duration
}

func routerCommand() *cobra.Command {
	var c routerConfig
	cmd := &cobra.Command{
		Use:   "router",
		Short: "Serve the Routes of a management cluster that has no router",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runRouter(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.domain, "ingress-domain", "", "domain of the router and of Routes without a host name")
	flags.StringVar(&c.listenAddr, "listen-addr", ":8443", "address that takes TLS connections")
	flags.StringVar(&c.healthAddr, "health-addr", ":6060", "address of /healthz and /readyz")
	flags.DurationVar(&c.drain, "drain", 45*time.Second, "how long connections live on when the router ends")
	if err := cmd.MarkFlagRequired("ingress-domain"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

var errRoutesUnknown = errors.New("the Routes are not read yet")

func runRouter(ctx context.Context, c routerConfig) error {
	handler := slog.NewJSONHandler(os.Stderr, nil)
	slog.SetDefault(slog.New(handler))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := discoveryv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  c.healthAddr,
		GracefulShutdownTimeout: ptr.To(routerLinger + c.drain + time.Second),
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:                  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	table := router.NewTable()
	admitter := &router.Admitter{Client: mgr.GetClient(), Domain: c.domain, Table: table}
	if err := admitter.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.listenAddr)
	if err != nil {
		return fmt.Errorf("listen for connections: %w", err)
	}
	proxy := &router.Proxy{Endpoints: mgr.GetClient(), Table: table, Linger: routerLinger, Drain: c.drain}
	var ready atomic.Bool
	serve := manager.RunnableFunc(func(ctx context.Context) error {
		if err := admitter.Fill(ctx); err != nil {
			return err
		}
		ready.Store(true)
		return proxy.Serve(ctx, listener)
	})
	if err := mgr.Add(serve); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("serve /healthz: %w", err)
	}
	err = mgr.AddReadyzCheck("routes", func(*http.Request) error {
		if !ready.Load() {
			return errRoutesUnknown
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("serve /readyz: %w", err)
	}
	return mgr.Start(ctx)
}
