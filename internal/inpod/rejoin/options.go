// Package rejoin lets an etcd that lost its disk join its cluster again, as a new member in its former place.
package rejoin

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
)

// Options say which member of which cluster this is, as etcd itself is told.
type Options struct {
	Name, DataDir, PeerURL, ClientURL string
	// ListenPeerURL is where the others reach this member.
	ListenPeerURL string
	// InitialCluster are all members, "name=url,name=url"; Token is the cluster's.
	InitialCluster, Token string
	// Endpoints are the client URLs of all members.
	Endpoints []string
	// QuotaBytes bounds the database.
	QuotaBytes int64
	// BegunFile, when it exists, tells that the cluster has data: without its other members this one must not begin anew.
	BegunFile string
	// CAFile is trusted on both sides. The server's certificate is shown to other members' clients too.
	CAFile, CertFile, KeyFile, PeerCertFile, PeerKeyFile string
}

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Name, "name", "", "name of the member")
	flags.StringVar(&o.DataDir, "data-dir", "", "etcd's data directory")
	flags.StringVar(&o.PeerURL, "initial-advertise-peer-urls", "", "peer URL of the member")
	flags.StringVar(&o.ClientURL, "advertise-client-urls", "", "client URL of the member")
	flags.StringVar(&o.ListenPeerURL, "listen-peer-urls", "", "where the member listens for the others")
	flags.StringVar(&o.InitialCluster, "initial-cluster", "", "members of the cluster, as etcd is told")
	flags.StringVar(&o.Token, "initial-cluster-token", "", "token of the cluster, as etcd is told")
	flags.StringSliceVar(&o.Endpoints, "endpoints", nil, "client URLs of the members")
	flags.Int64Var(&o.QuotaBytes, "quota-backend-bytes", 0, "size of the database at which etcd refuses writes")
	flags.StringVar(&o.BegunFile, "begun-file", "", "file that exists when the cluster has data")
	flags.StringVar(&o.CAFile, "trusted-ca-file", "", "authorities of the members' certificates")
	flags.StringVar(&o.CertFile, "cert-file", "", "certificate of the member as a server, and as a client of the others")
	flags.StringVar(&o.KeyFile, "key-file", "", "its key")
	flags.StringVar(&o.PeerCertFile, "peer-cert-file", "", "certificate of the member as a peer")
	flags.StringVar(&o.PeerKeyFile, "peer-key-file", "", "its key")
}

// others are the client URLs of the members that are not this one.
func (o Options) others() []string {
	var found []string
	for _, endpoint := range o.Endpoints {
		if endpoint != o.ClientURL {
			found = append(found, endpoint)
		}
	}
	return found
}

func (o Options) transport(certFile, keyFile string) transport.TLSInfo {
	return transport.TLSInfo{CertFile: certFile, KeyFile: keyFile, TrustedCAFile: o.CAFile, ClientCertAuth: o.CAFile != "", MinVersion: tls.VersionTLS12}
}

// clusterOf is the part of the initial cluster whose peer URLs are given: what etcd wants to be told when it joins.
func (o Options) clusterOf(peerURLs map[string]bool) (string, error) {
	all, err := types.NewURLsMap(o.InitialCluster)
	if err != nil {
		return "", fmt.Errorf("--initial-cluster: %w", err)
	}
	var members []string
	for name, urls := range all {
		if len(urls) == 1 && peerURLs[urls[0].String()] {
			members = append(members, name+"="+urls[0].String())
		}
	}
	return strings.Join(members, ","), nil
}

func parseURLs(texts ...string) ([]url.URL, error) {
	urls, err := types.NewURLs(texts)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", texts, err)
	}
	return urls, nil
}
