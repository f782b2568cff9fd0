package kms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/kms/pkg/service"
	"k8s.io/kms/pkg/util"

	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	connectTimeout = 5 * time.Second
	headerTimeout  = 5 * time.Second
	dialTimeout    = 3 * time.Second
)

// Options of the provider.
type Options struct {
	VaultName, KeyName, KeyVersion string
	ManagedHSM                     bool
	// ListenAddr is the socket, unix:///path.
	ListenAddr string
	// ConfigFile is the JSON that names cloud and tenant.
	ConfigFile  string
	HealthPort  int
	HealthPath  string
	MetricsPort int
	Verbosity   int
}

// AddFlags registers the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.VaultName, "keyvault-name", "", "name of the key vault")
	flags.StringVar(&o.KeyName, "key-name", "", "name of the key in the vault")
	flags.StringVar(&o.KeyVersion, "key-version", "", "version of the key")
	flags.BoolVar(&o.ManagedHSM, "managed-hsm", false, "the vault is a managed HSM")
	flags.StringVar(&o.ListenAddr, "listen-addr", "unix:///opt/azurekms.socket", "socket that the API server connects to")
	flags.StringVar(&o.ConfigFile, "config-file-path", "/etc/kubernetes/azure.json", "JSON file that names the cloud and the tenant")
	flags.IntVar(&o.HealthPort, "healthz-port", 8787, "port of the health check")
	flags.StringVar(&o.HealthPath, "healthz-path", "/healthz", "path of the health check")
	flags.IntVar(&o.MetricsPort, "metrics-addr", 8095, "port of the metrics")
	flags.IntVarP(&o.Verbosity, "v", "v", 1, "2 and above also log every call of the API server")
}

// config is what the provider reads of the configuration file.
type config struct {
	Cloud               string `json:"cloud"`
	TenantID            string `json:"tenantId"`
	UseWorkloadIdentity bool   `json:"useWorkloadIdentityExtension"`
}

func readConfig(path string) (config, error) {
	var c config
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read --config-file-path: %w", err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("--config-file-path %s is not JSON: %w", path, err)
	}
	if !c.UseWorkloadIdentity {
		return c, fmt.Errorf("%s names no workload identity; this provider signs in with nothing else", path)
	}
	return c, nil
}

// Run serves until ctx ends.
func Run(ctx context.Context, o Options) error {
	for flag, value := range map[string]string{"--keyvault-name": o.VaultName, "--key-name": o.KeyName, "--key-version": o.KeyVersion} {
		if value == "" {
			return fmt.Errorf("azure-kms-provider: %s is missing", flag)
		}
	}
	file, err := readConfig(o.ConfigFile)
	if err != nil {
		return err
	}
	key := vault.Key{Vault: o.VaultName, Name: o.KeyName, Version: o.KeyVersion, ManagedHSM: o.ManagedHSM, Cloud: file.Cloud,
		TenantID: file.TenantID, ClientID: os.Getenv(contract.AzureClientIDEnv)}
	vault, err := vault.WithTokenFile(key, os.Getenv(contract.AzureFederatedTokenFileEnv))
	if err != nil {
		return err
	}
	address, err := key.ID()
	if err != nil {
		return err
	}
	return serve(ctx, o, vault, address)
}

func serve(ctx context.Context, o Options, vault Vault, address string) error {
	socket, err := util.ParseEndpoint(o.ListenAddr)
	if err != nil {
		return fmt.Errorf("--listen-addr: %w", err)
	}
	// A container that is started again finds the socket of its former life.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--listen-addr: %w", err)
	}
	registry := prometheus.NewRegistry()
	plugin := newProvider(vault, address, newCalls(registry, logr.FromContextOrDiscard(ctx), o.Verbosity))
	server := service.NewGRPCService(socket, connectTimeout, plugin)
	health := http.NewServeMux()
	health.HandleFunc(o.HealthPath, answers(socket))
	metrics := http.NewServeMux()
	metrics.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	group, ctx := errgroup.WithContext(ctx)
	group.Go(server.ListenAndServe)
	for port, handler := range map[int]http.Handler{o.HealthPort: health, o.MetricsPort: metrics} {
		listener := &http.Server{Addr: fmt.Sprintf(":%d", port), Handler: handler, ReadHeaderTimeout: headerTimeout}
		group.Go(listener.ListenAndServe)
		context.AfterFunc(ctx, func() { _ = listener.Close() })
	}
	context.AfterFunc(ctx, server.Shutdown)
	if err := group.Wait(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("azure-kms-provider: %w", err)
	}
	return nil
}

// answers tells whether this process still serves its socket. Whether the vault answers is the status's to say: restarting the provider
// does not repair a vault.
func answers(socket string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(r.Context(), "unix", socket)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_ = conn.Close()
		_, _ = w.Write([]byte("ok"))
	}
}
