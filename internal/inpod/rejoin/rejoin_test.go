package rejoin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const memberCount = 3

// cluster is three real etcds as the StatefulSet runs them: told that they begin a cluster, each time they start.
type cluster struct {
	*testing.T
	program string
	begun   string
	members [memberCount]Options
	running [memberCount]*exec.Cmd
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t, program: kubetest.Program(t, "etcd"), begun: filepath.Join(t.TempDir(), "begun")}
	ca, cert, key := certificate(t)
	var initial, endpoints []string
	for i := range c.members {
		c.members[i] = Options{Name: fmt.Sprintf("etcd-%d", i), PeerURL: "https://" + kubetest.FreeAddress(t), ClientURL: "https://" + kubetest.FreeAddress(t), DataDir: t.TempDir(),
			Token: "test", QuotaBytes: 1 << 30, BegunFile: c.begun,
			CAFile: ca, CertFile: cert, KeyFile: key, PeerCertFile: cert, PeerKeyFile: key}
		initial = append(initial, c.members[i].Name+"="+c.members[i].PeerURL)
		endpoints = append(endpoints, c.members[i].ClientURL)
	}
	for i := range c.members {
		m := &c.members[i]
		m.InitialCluster, m.Endpoints, m.ListenPeerURL = strings.Join(initial, ","), endpoints, m.PeerURL
	}
	t.Cleanup(func() {
		for i := range c.running {
			c.stop(i)
		}
	})
	return c
}

// certificate is one for a client and a server on this machine, and its own authority.
func certificate(t *testing.T) (ca, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("ca.crt", "CERTIFICATE", public), write("tls.crt", "CERTIFICATE", public), write("tls.key", "EC PRIVATE KEY", secret)
}

func (c *cluster) start(i int) {
	c.Helper()
	m := c.members[i]
	c.running[i] = exec.CommandContext(context.Background(), c.program, "--name="+m.Name, "--data-dir="+m.DataDir, "--initial-cluster="+m.InitialCluster,
		"--initial-cluster-token="+m.Token, "--initial-cluster-state=new", "--initial-advertise-peer-urls="+m.PeerURL, "--listen-peer-urls="+m.ListenPeerURL,
		"--advertise-client-urls="+m.ClientURL, "--listen-client-urls="+m.ClientURL, "--log-level=error", "--unsafe-no-fsync",
		"--client-cert-auth=true", "--trusted-ca-file="+m.CAFile, "--cert-file="+m.CertFile, "--key-file="+m.KeyFile,
		"--peer-client-cert-auth=true", "--peer-trusted-ca-file="+m.CAFile, "--peer-cert-file="+m.PeerCertFile, "--peer-key-file="+m.PeerKeyFile)
	c.running[i].Stderr = os.Stderr
	if err := c.running[i].Start(); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) stop(i int) {
	if c.running[i] != nil {
		_ = c.running[i].Process.Kill()
		_ = c.running[i].Wait()
		c.running[i] = nil
	}
}

func (c *cluster) wipe(i int) {
	c.Helper()
	if err := os.RemoveAll(filepath.Join(c.members[i].DataDir, "member")); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) run(i int) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	if err := Run(ctx, c.members[i]); err != nil {
		c.Fatalf("member %d: %v", i, err)
	}
}

func (c *cluster) client(i int) *clientv3.Client {
	c.Helper()
	config, err := c.members[i].transport(c.members[i].CertFile, c.members[i].KeyFile).ClientConfig()
	if err != nil {
		c.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{c.members[i].ClientURL}, TLS: config, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = client.Close() })
	return client
}

// value reads a key through one member, which must have caught up with the others for it; it waits for that.
func (c *cluster) value(i int, key string) string {
	c.Helper()
	client, deadline := c.client(i), time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
		answer, err := client.Get(ctx, key)
		cancel()
		if err == nil && len(answer.Kvs) == 1 {
			return string(answer.Kvs[0].Value)
		}
		if err == nil || time.Now().After(deadline) {
			c.Fatalf("member %d has no %s: %v", i, key, err)
		}
	}
}

func (c *cluster) put(i int, key, value string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	if _, err := c.client(i).Put(ctx, key, value); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) ids(i int) map[string]uint64 {
	c.Helper()
	answer, err := c.client(i).MemberList(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	ids := map[string]uint64{}
	for _, m := range answer.Members {
		ids[m.Name] = m.ID
	}
	return ids
}

// TestLostDisk: a cluster begins, one member after the other; loses a disk; loses it again in the middle of a repair; and loses it when
// nobody else is there.
func TestLostDisk(t *testing.T) {
	c := newCluster(t)
	for i := range c.members {
		c.run(i)
		c.start(i)
	}
	c.put(0, "a", "1")
	if err := os.WriteFile(c.begun, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := c.ids(0)

	c.stop(2)
	c.run(2)
	if after := c.ids(0); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a member with its data was replaced: %v, then %v", before, after)
	}
	c.wipe(2)
	c.run(2)
	c.put(0, "b", "2")
	c.start(2)
	if got := c.value(2, "a") + c.value(2, "b"); got != "12" {
		t.Errorf("the new member has %q", got)
	}
	after := c.ids(2)
	if len(after) != memberCount || after["etcd-2"] == before["etcd-2"] || after["etcd-0"] != before["etcd-0"] {
		t.Errorf("members %v, then %v", before, after)
	}

	// An earlier repair came as far as the removal, and the next one as far as the addition.
	c.stop(2)
	c.wipe(2)
	c.member(0, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberRemove(ctx, after["etcd-2"])
		return err
	})
	c.run(2)
	c.wipe(2)
	c.member(0, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberRemove(ctx, c.ids(0)["etcd-2"])
		return err
	})
	c.member(0, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberAdd(ctx, []string{c.members[2].PeerURL})
		return err
	})
	c.run(2)
	c.start(2)
	if got := c.value(2, "b"); got != "2" {
		t.Errorf("after interrupted repairs the member has %q", got)
	}

	for i := range c.members {
		c.stop(i)
	}
	c.wipe(2)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := Run(ctx, c.members[2]); err == nil {
		t.Error("an empty member must not begin a cluster that has data elsewhere")
	}
}

// member calls the cluster until it agrees: it refuses changes while it counts its members.
func (c *cluster) member(i int, call func(context.Context, *clientv3.Client) error) {
	c.Helper()
	client, deadline := c.client(i), time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(c.Context(), 10*time.Second)
		err := call(ctx, client)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func TestFind(t *testing.T) {
	o := Options{Name: "etcd-1", PeerURL: "https://etcd-1:2380"}
	others := &etcdserverpb.Member{Name: "etcd-0", PeerURLs: []string{"https://etcd-0:2380"}, ClientURLs: []string{"https://etcd-0:2379"}}
	for title, c := range map[string]struct {
		own  *etcdserverpb.Member
		want membership
	}{
		"begins":          {&etcdserverpb.Member{Name: "etcd-1", PeerURLs: []string{o.PeerURL}}, expected},
		"had data":        {&etcdserverpb.Member{Name: "etcd-1", PeerURLs: []string{o.PeerURL}, ClientURLs: []string{"https://etcd-1:2379"}}, stale},
		"had another URL": {&etcdserverpb.Member{Name: "etcd-1", PeerURLs: []string{"https://10.0.0.1:2380"}, ClientURLs: []string{"https://10.0.0.1:2379"}}, stale},
		"was added":       {&etcdserverpb.Member{PeerURLs: []string{o.PeerURL}}, added},
		"is not a member": {&etcdserverpb.Member{Name: "etcd-2", PeerURLs: []string{"https://etcd-2:2380"}}, removed},
	} {
		if _, got := o.find([]*etcdserverpb.Member{others, c.own}); got != c.want {
			t.Errorf("%s: %d, want %d", title, got, c.want)
		}
	}
}
