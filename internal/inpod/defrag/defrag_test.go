package defrag

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// startEtcd runs a real etcd of so many members and returns their client URLs.
func startEtcd(t *testing.T, members int) []string {
	t.Helper()
	program := kubetest.Program(t, "etcd")
	var peers, clients, initial []string
	for i := range members {
		peers, clients = append(peers, "http://"+kubetest.FreeAddress(t)), append(clients, "http://"+kubetest.FreeAddress(t))
		initial = append(initial, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	for i := range members {
		command := exec.CommandContext(context.Background(), program, fmt.Sprintf("--name=m%d", i), "--data-dir="+t.TempDir(),
			"--initial-cluster="+strings.Join(initial, ","), "--initial-advertise-peer-urls="+peers[i], "--listen-peer-urls="+peers[i],
			"--advertise-client-urls="+clients[i], "--listen-client-urls="+clients[i], "--log-level=error", "--unsafe-no-fsync")
		command.Stderr = os.Stderr
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
	}
	return clients
}

// TestDefragment fills three members and empties them again: what they keep on disk goes, and their data stays.
func TestDefragment(t *testing.T) {
	o := Options{Endpoints: startEtcd(t, 3), MinBytes: 4 << 20}
	client, err := o.client()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Put(ctx, "kept", "1"); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if _, err := client.Put(ctx, fmt.Sprint("waste/", i), strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	// Members write to their disks behind the answers to their clients.
	var before []member
	eventually(t, "every member has written what it was given, and grows no more", func() bool {
		last := before
		before = eventuallyWell(t, o, client)
		grown := !slices.ContainsFunc(before, func(m member) bool { return m.sizeInUse < 12<<20 })
		time.Sleep(500 * time.Millisecond)
		return grown && fmt.Sprint(sizes(last)) == fmt.Sprint(sizes(before))
	})
	if err := o.round(ctx); err != nil {
		t.Fatal(err)
	}
	if after := eventuallyWell(t, o, client); fmt.Sprint(sizes(after)) != fmt.Sprint(sizes(before)) {
		t.Errorf("full members were defragmented: %v, then %v", before, after)
	}
	answer, err := client.Delete(ctx, "waste/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(ctx, answer.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every member has compacted", func() bool {
		// Pages become free with a later write.
		if _, err := client.Put(ctx, "kept", "1"); err != nil {
			t.Fatal(err)
		}
		for _, m := range eventuallyWell(t, o, client) {
			if !m.wasteful(o.MinBytes) {
				return false
			}
		}
		return true
	})
	if err := o.round(ctx); err != nil {
		t.Fatal(err)
	}
	for _, m := range eventuallyWell(t, o, client) {
		if m.size >= 4<<20 {
			t.Errorf("%s keeps %d bytes for %d", m.endpoint, m.size, m.sizeInUse)
		}
	}
	if got, err := client.Get(ctx, "kept"); err != nil || len(got.Kvs) != 1 {
		t.Errorf("the data: %v, %v", got, err)
	}

	o.Endpoints = append(o.Endpoints, "http://"+kubetest.FreeAddress(t))
	if err := o.round(ctx); err == nil {
		t.Error("members are defragmented while another one is away")
	}
}

func sizes(members []member) []int64 {
	var out []int64
	for _, m := range members {
		out = append(out, m.size)
	}
	return out
}

func eventuallyWell(t *testing.T, o Options, client *clientv3.Client) []member {
	t.Helper()
	var members []member
	eventually(t, "all members are well", func() bool {
		var err error
		members, err = o.members(t.Context(), client)
		return err == nil
	})
	return members
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is not true that %s", what)
		}
	}
}

func TestWasteful(t *testing.T) {
	for _, c := range []struct {
		size, used int64
		want       bool
	}{{minBytes, minBytes / 2, true}, {minBytes - 1, 0, false}, {minBytes, minBytes * 6 / 10, false}} {
		if got := (member{size: c.size, sizeInUse: c.used}).wasteful(minBytes); got != c.want {
			t.Errorf("%d bytes of which %d are used: %t", c.size, c.used, got)
		}
	}
}

// TestLease: the controller acts under its name, and lets the Lease go when it ends.
func TestLease(t *testing.T) {
	api := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Options{Namespace: "clusters-demo", Identity: "etcd-1", Endpoints: []string{"http://" + kubetest.FreeAddress(t)}}.run(ctx, api)
	}()
	holder := func() string {
		lease, err := api.CoordinationV1().Leases("clusters-demo").Get(t.Context(), contract.EtcdDefragmenter, metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	eventually(t, "the Lease is held", func() bool { return holder() == "etcd-1" })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("told to end: %v", err)
	}
	if got := holder(); got != "" {
		t.Errorf("the Lease is still held by %q", got)
	}
	if err := (Options{}).run(t.Context(), api); err == nil {
		t.Error("no options are accepted")
	}
}
