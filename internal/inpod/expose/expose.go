// Package expose shows a few paths of an etcd member to who is no client of etcd: its health to the kubelet, its metrics to Prometheus.
package expose

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/tlsutil"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// Name of the subcommand.
	Name = "expose"

	headerTimeout = 10 * time.Second
	// idleTimeout: who asks again within a minute keeps its connection.
	idleTimeout  = 90 * time.Second
	graceTimeout = 5 * time.Second
)

// Options say what of which member is shown to whom.
type Options struct {
	// Listen is the address of this server, Target the member's URL.
	Listen, Target string
	// Paths are what is shown: path here -> path of the member.
	Paths map[string]string
	// CertFile and KeyFile are this server's certificate, and what it shows the member as its client. They are read for every connection.
	CertFile, KeyFile string
	// CAFile has the authorities of the member's certificate.
	CAFile string
	// ClientCAFile has those of who may ask, and is read for every connection; everybody may where it is empty.
	ClientCAFile string
	CipherSuites []string
}

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", "", "address to listen at")
	flags.StringVar(&o.Target, "target", "", "URL of the member")
	flags.StringToStringVar(&o.Paths, "path", nil, "PATH=PATH-OF-THE-MEMBER, once for each that is shown")
	flags.StringVar(&o.CertFile, "cert-file", "", "certificate of this server, and of the member's client")
	flags.StringVar(&o.KeyFile, "key-file", "", "its key")
	flags.StringVar(&o.CAFile, "trusted-ca-file", "", "authorities of the member's certificate")
	flags.StringVar(&o.ClientCAFile, "client-ca-file", "", "authorities of the certificates that clients have to show; empty for none")
	flags.StringSliceVar(&o.CipherSuites, "cipher-suites", nil, "cipher suites of TLS 1.2")
}

// Run serves until the context ends.
func Run(ctx context.Context, o Options) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", o.Listen, err)
	}
	return o.serve(ctx, listener)
}

func (o Options) serve(ctx context.Context, listener net.Listener) error {
	handler, err := o.handler(ctx)
	if err != nil {
		return err
	}
	config, err := o.serverConfig()
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, TLSConfig: config, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", o.Listen, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end the server: %w", err)
	}
	return nil
}

// handler passes the paths on, without what a query might change of them.
func (o Options) handler(ctx context.Context) (http.Handler, error) {
	target, err := url.Parse(o.Target)
	if err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	config, err := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, MinVersion: tls.VersionTLS12}.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the credentials of the member's client: %w", err)
	}
	member := &http.Transport{TLSClientConfig: config, IdleConnTimeout: idleTimeout}
	mux := http.NewServeMux()
	for path, theirs := range o.Paths {
		mux.Handle("GET "+path, &httputil.ReverseProxy{
			Transport: member,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL, r.Out.Host = target.ResolveReference(&url.URL{Path: theirs}), target.Host
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				log.FromContext(ctx).Error(err, "the member does not answer", "path", theirs)
				http.Error(w, "the member does not answer", http.StatusBadGateway)
			},
		})
	}
	return mux, nil
}

// serverConfig is made anew for every connection, because an authority may be replaced.
func (o Options) serverConfig() (*tls.Config, error) {
	suites, err := tlsutil.GetCipherSuites(o.CipherSuites)
	if err != nil {
		return nil, fmt.Errorf("--cipher-suites: %w", err)
	}
	present := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		info := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.ClientCAFile, ClientCertAuth: o.ClientCAFile != "",
			MinVersion: tls.VersionTLS12, CipherSuites: suites}
		config, err := info.ServerConfig()
		if err != nil {
			return nil, fmt.Errorf("read the certificates: %w", err)
		}
		config.NextProtos = []string{"h2", "http/1.1"} // etcd's own clients all speak HTTP/2
		return config, nil
	}
	// What cannot be read now is told now, not to the first client.
	config, err := present(nil)
	if err != nil {
		return nil, err
	}
	config.GetConfigForClient = present
	return config, nil
}
