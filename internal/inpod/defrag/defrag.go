// Package defrag gives back the space that a hosted control plane's etcd has freed inside its files.
package defrag

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// period is how often the members are looked at.
	period = 10 * time.Minute
	// A member answers nobody while it is defragmented: the smaller a file, the less there is to gain.
	minBytes = 100 << 20
	// maxWaste is the part of a file that may be free.
	maxWaste = 0.45

	statusTimeout = 10 * time.Second
	// defragTimeout is for a database of the largest size.
	defragTimeout = 5 * time.Minute
)

// Options say which etcd is looked after, and how.
type Options struct {
	// Namespace has the Lease by which one of several controllers acts; Identity is this one's name.
	Namespace, Identity string
	// Endpoints are the client URLs of all members.
	Endpoints []string
	// CAFile, CertFile and KeyFile are for a client of etcd.
	CAFile, CertFile, KeyFile string
	// MinBytes is the size below which a file is left alone.
	MinBytes int64
}

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "namespace of the Lease")
	flags.StringVar(&o.Identity, "identity", "", "name of this controller among those that share the Lease")
	flags.StringSliceVar(&o.Endpoints, "endpoints", nil, "client URLs of the members")
	flags.StringVar(&o.CAFile, "trusted-ca-file", "", "authorities of the members' certificates")
	flags.StringVar(&o.CertFile, "cert-file", "", "certificate of a client of etcd")
	flags.StringVar(&o.KeyFile, "key-file", "", "its key")
	flags.Int64Var(&o.MinBytes, "min-bytes", minBytes, "size below which a member's file is left alone")
}

// member is what one member says of itself.
type member struct {
	endpoint        string
	leader          bool
	size, sizeInUse int64
}

func (m member) wasteful(smallest int64) bool {
	return m.size >= smallest && float64(m.size-m.sizeInUse) > maxWaste*float64(m.size)
}

// watch looks at the members again and again until the context ends.
func (o Options) watch(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := o.round(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "etcd was not defragmented")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round defragments the members that waste much, one after the other, and none while another one is not well. The leader comes last:
// the others may elect another one meanwhile.
func (o Options) round(ctx context.Context) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	defer client.Close()
	members, err := o.members(ctx, client)
	if err != nil {
		return err
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(rank(a), rank(b)) })
	for _, m := range members {
		if !m.wasteful(o.MinBytes) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, defragTimeout)
		_, err := client.Defragment(limited, m.endpoint)
		cancel()
		if err != nil {
			return fmt.Errorf("defragment %s: %w", m.endpoint, err)
		}
		log.FromContext(ctx).Info("defragmented", "member", m.endpoint, "bytes", m.size, "bytesInUse", m.sizeInUse)
		if _, err := o.members(ctx, client); err != nil {
			return fmt.Errorf("after %s: %w", m.endpoint, err)
		}
	}
	return nil
}

func rank(m member) int {
	if m.leader {
		return 1
	}
	return 0
}

// members asks all of them; an error tells that not all are well.
func (o Options) members(ctx context.Context, client *clientv3.Client) ([]member, error) {
	var found []member
	var failures []error
	for _, endpoint := range o.Endpoints {
		limited, cancel := context.WithTimeout(ctx, statusTimeout)
		status, err := client.Status(limited, endpoint)
		cancel()
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("status of %s: %w", endpoint, err))
		case len(status.Errors) > 0 || status.Leader == 0:
			failures = append(failures, fmt.Errorf("%s is not well: leader %x, %v", endpoint, status.Leader, status.Errors))
		default:
			found = append(found, member{endpoint, status.Leader == status.Header.MemberId, status.DbSize, status.DbSizeInUse})
		}
	}
	return found, errors.Join(failures...)
}

func (o Options) client() (*clientv3.Client, error) {
	config := clientv3.Config{Endpoints: o.Endpoints, DialTimeout: statusTimeout, Logger: zap.NewNop()}
	if o.CAFile != "" {
		// Read anew each time: certificates are renewed.
		info := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, MinVersion: tls.VersionTLS12}
		var err error
		if config.TLS, err = info.ClientConfig(); err != nil {
			return nil, fmt.Errorf("read the certificates: %w", err)
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("reach etcd: %w", err)
	}
	return client, nil
}
