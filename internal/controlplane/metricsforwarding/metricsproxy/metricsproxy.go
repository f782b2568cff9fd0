// Package metricsproxy shows the metrics of a control plane to the hosted cluster's own monitoring: to clients that the cluster has certified, one
// program at a time, and as much as the chosen set keeps.
package metricsproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/serve"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

const (
	// Name of the subcommand.
	Name = contract.MetricsProxy
	// Port that it listens at.
	Port = 9443
)

// Options of the program.
type Options struct {
	CertFile, KeyFile, ClientCAFile, ConfigFile string
	// Set is what is shown; SREFile has what replaces set SRE.
	Set, SREFile string
}

// SREDir has the file that replaces set SRE.
const SREDir = "/etc/metrics-proxy/sre"

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.CertFile, "tls-cert-file", "", "certificate of this server")
	flags.StringVar(&o.KeyFile, "tls-key-file", "", "its key")
	flags.StringVar(&o.ClientCAFile, "client-ca-file", "", "authorities of the certificates that clients have to show")
	flags.StringVar(&o.ConfigFile, "config-file", "", "which programs there are; a file that is not there names none")
	flags.StringVar(&o.Set, "metrics-set", string(monitor.All), "what is shown: Telemetry, SRE or All")
	flags.StringVar(&o.SREFile, "sre-file", SREDir+"/"+monitor.SREKey, "what is shown of set SRE instead; a file that is not there says nothing")
}

// Run serves until the context ends.
func Run(ctx context.Context, o Options) error {
	handler, err := o.handler()
	if err != nil {
		return err
	}
	config, err := o.serverConfig()
	if err != nil {
		return err
	}
	return serve.HTTPS(ctx, Port, o.CertFile, o.KeyFile, config, handler)
}

// serverConfig lets in who shows no certificate, too: for the health, and to be told what is missing.
func (o Options) serverConfig() (*tls.Config, error) {
	clients, err := pool(o.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}, nil
}

func pool(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("file %s has no certificate", file)
	}
	return authorities, nil
}

// sre is what the installation keeps of set SRE; nothing where it says nothing.
func (o Options) sre() (map[string][]any, error) {
	text, err := os.ReadFile(o.SREFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", o.SREFile, err)
	}
	return monitor.ParseSRE(string(text))
}

func (o Options) handler() (http.Handler, error) {
	set, err := monitor.ParseSet(o.Set)
	if err != nil {
		return nil, fmt.Errorf("--metrics-set: %w", err)
	}
	config := monitor.Proxy{}
	text, err := os.ReadFile(o.ConfigFile)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &config)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--config-file: read %s: %w", o.ConfigFile, err)
	}
	sre, err := o.sre()
	if err != nil {
		return nil, err
	}
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "metrics_aggregator_pod_scrape_errors_total",
		Help: "Pods that did not tell their metrics."}, []string{"component"})
	own := prometheus.NewRegistry()
	if err := own.Register(failed); err != nil {
		return nil, err
	}
	programs := map[string]*program{}
	for _, c := range config.Components {
		if programs[c.Name], err = newProgram(c, config.EndpointResolver, monitor.Relabelings(c.Name, set, sre), failed.WithLabelValues(c.Name)); err != nil {
			return nil, fmt.Errorf("component %s of %s: %w", c.Name, o.ConfigFile, err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /metrics", certified(promhttp.HandlerFor(own, promhttp.HandlerOpts{})))
	mux.Handle("GET /metrics/{component}", certified(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("component")
		if programs[name] == nil {
			http.Error(w, fmt.Sprintf("the control plane has no program %q whose metrics are forwarded", name), http.StatusNotFound)
			return
		}
		shown, err := programs[name].scrape(r.Context())
		if err != nil {
			log.FromContext(r.Context()).Error(err, "metrics are not shown", "component", name)
			http.Error(w, "no pod of "+name+" tells its metrics", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if _, err := w.Write(shown); err != nil {
			log.FromContext(r.Context()).Error(err, "send metrics", "component", name)
		}
	})))
	return mux, nil
}

// certified lets those through that have shown a certificate; the server has verified it.
func certified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "show a client certificate of the hosted cluster", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
