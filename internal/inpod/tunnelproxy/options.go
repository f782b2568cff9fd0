// Package tunnelproxy has the two proxies, of HTTP and of SOCKS5, by which programs of a control plane reach the network of its guest:
// they listen on the pod's own address and pass everything on through the konnectivity server.
package tunnelproxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Options of both proxies.
type Options struct {
	// Port to listen on, at 127.0.0.1.
	Port uint16
	// Host and ServerPort are the konnectivity server's.
	Host       string
	ServerPort uint16
	// CAFile, CertFile and KeyFile are for the konnectivity server.
	CAFile, CertFile, KeyFile string
	// DirectToCloud sends what is for Azure's own hosts straight out, by the process's own proxy if it has one.
	DirectToCloud bool
	// FromGuestDNS and FromManagementDNS tell who knows names, besides the guest's Services; NoResolver leaves all names to the guest's end of the tunnel.
	FromGuestDNS, FromManagementDNS, NoResolver bool
	// PreferIPv4 takes such an address of a name that has several.
	PreferIPv4 bool
	// HTTPProxy, HTTPSProxy and NoProxy are the user's, in the guest's network.
	HTTPProxy, HTTPSProxy, NoProxy string
	// Kubeconfig of the guest.
	Kubeconfig string
}

// AddHTTPFlags registers the options of the HTTP proxy.
func (o *Options) AddHTTPFlags(flags *pflag.FlagSet) {
	o.addFlags(flags)
	flags.StringVar(&o.HTTPProxy, "http-proxy", "", "the hosted cluster's proxy for http")
	flags.StringVar(&o.HTTPSProxy, "https-proxy", "", "the hosted cluster's proxy for https")
	flags.StringVar(&o.NoProxy, "no-proxy", "", "what the hosted cluster reaches without its proxy")
}

// AddSOCKSFlags registers the options of the SOCKS5 proxy.
func (o *Options) AddSOCKSFlags(flags *pflag.FlagSet) {
	o.addFlags(flags)
	flags.BoolVar(&o.FromGuestDNS, "resolve-from-guest-cluster-dns", false, "ask the hosted cluster's DNS for names")
	flags.BoolVar(&o.FromManagementDNS, "resolve-from-management-cluster-dns", false, "ask the management cluster's DNS for names that the hosted cluster does not know")
	flags.BoolVar(&o.NoResolver, "disable-resolver", false, "leave names to the other end of the tunnel")
}

func (o *Options) addFlags(flags *pflag.FlagSet) {
	flags.Uint16Var(&o.Port, "serving-port", 8090, "port to listen on, at 127.0.0.1")
	flags.StringVar(&o.Host, "konnectivity-hostname", contract.KonnectivityLocal, "host of the konnectivity server")
	flags.Uint16Var(&o.ServerPort, "konnectivity-port", 8090, "port of the konnectivity server")
	flags.StringVar(&o.CAFile, "ca-cert-path", "/etc/konnectivity/proxy-ca/ca.crt", "certificate authorities to trust at the konnectivity server")
	flags.StringVar(&o.CertFile, "tls-cert-path", "/etc/konnectivity/proxy-client/tls.crt", "client certificate for the konnectivity server")
	flags.StringVar(&o.KeyFile, "tls-key-path", "/etc/konnectivity/proxy-client/tls.key", "key of the client certificate")
	flags.BoolVar(&o.DirectToCloud, "connect-directly-to-cloud-apis", false, "reach Azure's own hosts without the tunnel")
	flags.BoolVar(&o.PreferIPv4, "prefer-ipv4", false, "take an IPv4 address of a name that has several")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the hosted cluster, whose Services are known by name")
}

// dialer makes connections as the options say. The certificates are read for each connection, because they are renewed.
func (o Options) dialer() (*dialer, error) {
	if o.Host == "" || o.ServerPort == 0 {
		return nil, errors.New("--konnectivity-hostname and --konnectivity-port are required")
	}
	tunnel := &tunnel{address: net.JoinHostPort(o.Host, strconv.Itoa(int(o.ServerPort))), config: o.tlsConfig}
	d := &dialer{tunnel: tunnel.dial, direct: direct(httpproxy.FromEnvironment()), directToCloud: o.DirectToCloud}
	if o.HTTPProxy != "" || o.HTTPSProxy != "" {
		users := httpproxy.Config{HTTPProxy: o.HTTPProxy, HTTPSProxy: o.HTTPSProxy, NoProxy: o.NoProxy}
		d.users = users.ProxyFunc()
	}
	if o.NoResolver {
		return d, nil
	}
	if o.Kubeconfig == "" {
		if o.FromGuestDNS {
			return nil, errors.New("--resolve-from-guest-cluster-dns needs --kubeconfig, or the variable KUBECONFIG")
		}
		return d, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig: %w", err)
	}
	config.Timeout = lookupTimeout
	guest, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of --kubeconfig: %w", err)
	}
	d.names = &names{guest: guest, dial: tunnel.dial, fromGuest: o.FromGuestDNS, fromManagement: o.FromManagementDNS, preferIPv4: o.PreferIPv4,
		management: net.DefaultResolver}
	return d, nil
}

func (o Options) tlsConfig() (*tls.Config, error) {
	authorities, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the konnectivity server's authorities: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("%s holds no certificate authority", o.CAFile)
	}
	own, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load the client certificate for the konnectivity server: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{own}, ServerName: o.Host}, nil
}
