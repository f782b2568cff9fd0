package rejoin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	retryPeriod    = time.Second
	attemptTimeout = 10 * time.Second
	answerTimeout  = 2 * time.Second
	// joinTimeout is for the whole database, from another member.
	joinTimeout = 10 * time.Minute
	// reportEvery keeps the log readable while something takes its time.
	reportEvery = 10 * time.Second
	// nowhere is a port of the system's choice, without encryption because nobody is told of it.
	nowhere = "http://127.0.0.1:0"
)

var errNobody = errors.New("none of the other members answers")

// membership is what the others know of this member.
type membership int

const (
	// expected: the cluster begins, and this member with it.
	expected membership = iota
	// stale: it had data once, which is lost.
	stale
	// added: it was added to the running cluster, and has not started since.
	added
	// removed: the cluster runs without it.
	removed
)

// Run returns when etcd can start on the data directory:
//
//  1. with data, at once;
//  2. without data, in a cluster that begins: at once, and etcd begins with the others;
//  3. without data, in a cluster that has some: the stale member is removed and a new one added, which takes the others' data here, so
//     that etcd finds it and needs not be told that it joins.
//
// Each step finds what an interrupted run has left, and is tried again until the context ends.
func Run(ctx context.Context, o Options) error {
	reported := time.Time{}
	for {
		err := o.attempt(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Since(reported) > reportEvery {
			log.FromContext(ctx).Info("etcd cannot start yet", "member", o.Name, "reason", err.Error())
			reported = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up on member %s: %w", o.Name, err)
		case <-time.After(retryPeriod):
		}
	}
}

func (o Options) attempt(ctx context.Context) error {
	if wal.Exist(filepath.Join(o.DataDir, "member", "wal")) {
		return nil
	}
	client, members, err := o.ask(ctx)
	if errors.Is(err, errNobody) && !exists(o.BegunFile) {
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	own, state := o.find(members)
	if state == expected && exists(o.BegunFile) {
		// It may have voted before it could tell that it runs.
		state = stale
	}
	logger := log.FromContext(ctx).WithValues("member", o.Name)
	if state == expected {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if state == stale {
		logger.Info("the data of this member is lost: its place is freed", "id", fmt.Sprintf("%x", own.ID))
		if _, err := client.MemberRemove(limited, own.ID); err != nil {
			return fmt.Errorf("remove the stale member %x: %w", own.ID, err)
		}
	}
	if state != added {
		answer, err := client.MemberAdd(limited, []string{o.PeerURL})
		if err != nil {
			return fmt.Errorf("add the member %s: %w", o.PeerURL, err)
		}
		members = answer.Members
	}
	logger.Info("this member joins its cluster and takes the data of the others")
	return o.join(ctx, members)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ask returns a client of the first other member that answers, and the members that it knows. It need not have a leader: a cluster that
// begins has none before most have started.
func (o Options) ask(ctx context.Context) (*clientv3.Client, []*etcdserverpb.Member, error) {
	// What goes wrong is told once, by Run.
	config := clientv3.Config{DialTimeout: attemptTimeout, Logger: zap.NewNop()}
	if o.CAFile != "" {
		client, err := o.transport(o.CertFile, o.KeyFile).ClientConfig()
		if err != nil {
			return nil, nil, fmt.Errorf("read the certificates: %w", err)
		}
		config.TLS = client
	}
	failures := []error{errNobody}
	for _, endpoint := range o.others() {
		config.Endpoints = []string{endpoint}
		client, members, err := list(ctx, config)
		if err == nil {
			return client, members, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", endpoint, err))
	}
	return nil, nil, errors.Join(failures...)
}

func list(ctx context.Context, config clientv3.Config) (*clientv3.Client, []*etcdserverpb.Member, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := reachable(limited, config.Endpoints[0]); err != nil {
		return nil, nil, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, nil, err
	}
	answer, err := client.MemberList(limited, clientv3.WithSerializable())
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return client, answer.Members, nil
}

// reachable fails at once when nothing listens at the endpoint; the etcd client would keep trying.
func reachable(ctx context.Context, endpoint string) error {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", parsed.Host)
	if err != nil {
		return err
	}
	return connection.Close()
}

// find tells this member's state. A member that is told its name when its cluster begins, or says its name when it has started; the URLs
// of its clients it tells only when it has started.
func (o Options) find(members []*etcdserverpb.Member) (*etcdserverpb.Member, membership) {
	at := slices.IndexFunc(members, func(m *etcdserverpb.Member) bool { return m.Name == o.Name || slices.Contains(m.PeerURLs, o.PeerURL) })
	switch {
	case at < 0:
		return nil, removed
	case members[at].Name == "":
		return members[at], added
	case len(members[at].ClientURLs) == 0:
		return members[at], expected
	}
	return members[at], stale
}

// join starts this member until it is one of the cluster, and stops it again: etcd goes on with its data.
func (o Options) join(ctx context.Context, members []*etcdserverpb.Member) error {
	config, err := o.config(members)
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start the new member: %w", err)
	}
	defer server.Close()
	timeout := time.NewTimer(joinTimeout)
	defer timeout.Stop()
	select {
	case <-server.Server.ReadyNotify():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("the new member stopped: %w", err)
	case <-timeout.C:
		return fmt.Errorf("the new member is not ready after %s; etcd goes on from here", joinTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o Options) config(members []*etcdserverpb.Member) (*embed.Config, error) {
	peerURLs := map[string]bool{}
	for _, member := range members {
		for _, peerURL := range member.PeerURLs {
			peerURLs[peerURL] = true
		}
	}
	cluster, err := o.clusterOf(peerURLs)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Name, config.Dir = o.Name, o.DataDir
	config.InitialCluster, config.InitialClusterToken, config.ClusterState = cluster, o.Token, embed.ClusterStateFlagExisting
	config.PeerTLSInfo = o.transport(o.PeerCertFile, o.PeerKeyFile)
	config.LogLevel = "error"
	config.QuotaBackendBytes = o.QuotaBytes
	config.EnableGRPCGateway = false
	var errs [4]error
	config.AdvertisePeerUrls, errs[0] = parseURLs(o.PeerURL)
	config.ListenPeerUrls, errs[1] = parseURLs(o.ListenPeerURL)
	config.AdvertiseClientUrls, errs[2] = parseURLs(o.ClientURL)
	// Clients are served by etcd itself.
	config.ListenClientUrls, errs[3] = parseURLs(nowhere)
	return config, errors.Join(errs[:]...)
}
