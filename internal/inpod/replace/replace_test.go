package replace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/hypershift-on-azure/hypershift/internal/inpod/rejoin"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const namespace = "clusters-demo"

// bed is three real etcds, and a management cluster that knows their pods and claims. Deleting a pod of it empties the member's disk if
// its claim is gone, and starts it as its pod would.
type bed struct {
	*testing.T
	client  *fake.Clientset
	program string
	begun   string
	members []rejoin.Options
	running []*exec.Cmd
	options Options
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{T: t, program: kubetest.Program(t, "etcd"), begun: filepath.Join(t.TempDir(), "begun"), running: make([]*exec.Cmd, 3)}
	b.options = Options{Namespace: namespace, Endpoints: map[string]string{}, Patience: time.Second, Look: 50 * time.Millisecond, Heals: time.Minute}
	var initial, endpoints []string
	objects := []runtime.Object{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "etcd", Namespace: namespace}}}
	for i := range 3 {
		m := rejoin.Options{Name: fmt.Sprintf("etcd-%d", i), PeerURL: "http://" + kubetest.FreeAddress(t), ClientURL: "http://" + kubetest.FreeAddress(t),
			DataDir: t.TempDir(), Token: "test", QuotaBytes: 1 << 30, BegunFile: b.begun}
		b.members = append(b.members, m)
		initial, endpoints = append(initial, m.Name+"="+m.PeerURL), append(endpoints, m.ClientURL)
		b.options.Endpoints[m.Name] = m.ClientURL
		objects = append(objects,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Namespace: namespace, Labels: map[string]string{"app": "etcd"}}},
			&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-" + m.Name, Namespace: namespace}})
	}
	b.client = fake.NewClientset(objects...)
	b.client.PrependReactor("delete", "pods", b.restart)
	for i := range b.members {
		b.members[i].InitialCluster, b.members[i].Endpoints, b.members[i].ListenPeerURL = strings.Join(initial, ","), endpoints, b.members[i].PeerURL
		b.start(i)
	}
	t.Cleanup(func() {
		for i := range b.running {
			b.stop(i)
		}
	})
	b.healthy(0)
	if err := os.WriteFile(b.begun, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bed) start(i int) {
	b.Helper()
	m := b.members[i]
	b.running[i] = exec.CommandContext(context.Background(), b.program, "--name="+m.Name, "--data-dir="+m.DataDir, "--initial-cluster="+m.InitialCluster,
		"--initial-cluster-token="+m.Token, "--initial-cluster-state=new", "--initial-advertise-peer-urls="+m.PeerURL, "--listen-peer-urls="+m.ListenPeerURL,
		"--advertise-client-urls="+m.ClientURL, "--listen-client-urls="+m.ClientURL, "--log-level=error", "--unsafe-no-fsync")
	if err := b.running[i].Start(); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) stop(i int) {
	if b.running[i] != nil {
		_ = b.running[i].Process.Kill()
		_ = b.running[i].Wait()
		b.running[i] = nil
	}
}

// restart is what a StatefulSet and the pod's containers do once the pod is deleted. The fake has deleted the claim at once.
func (b *bed) restart(action core.Action) (bool, runtime.Object, error) {
	name := action.(core.DeleteAction).GetName()
	for i, m := range b.members {
		if m.Name != name {
			continue
		}
		b.stop(i)
		// The client itself is locked while it reacts.
		_, err := b.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), namespace, "data-"+name)
		if apierrors.IsNotFound(err) {
			if err := os.RemoveAll(filepath.Join(m.DataDir, "member")); err != nil {
				return true, nil, err
			}
		}
		go func() {
			if err := rejoin.Run(b.Context(), m); err == nil {
				b.start(i)
			}
		}()
	}
	return true, nil, nil
}

// fails breaks a member: its data are no data any more, and its pod says so.
func (b *bed) fails(i int) {
	b.Helper()
	b.stop(i)
	logs, err := filepath.Glob(filepath.Join(b.members[i].DataDir, "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		b.Fatal("no log of the member", err)
	}
	for _, file := range logs {
		if err := os.WriteFile(file, []byte("no log"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	pod, err := b.client.CoreV1().Pods(namespace).Get(b.Context(), b.members[i].Name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "etcd", RestartCount: 2, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
	if _, err := b.client.CoreV1().Pods(namespace).UpdateStatus(b.Context(), pod, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) etcd(i int) *clientv3.Client {
	b.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{b.members[i].ClientURL}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	return client
}

// healthy waits until a member takes part.
func (b *bed) healthy(i int) {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := b.options.healthy(b.Context(), b.members[i].ClientURL)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

func (b *bed) claims() int {
	b.Helper()
	list, err := b.client.CoreV1().PersistentVolumeClaims(namespace).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return len(list.Items)
}

// TestReplacesAMember: a member whose data is destroyed is replaced by what the others have, and no other disk is touched.
func TestReplacesAMember(t *testing.T) {
	b := newBed(t)
	if err := b.options.run(t.Context(), b.client); err != nil || b.claims() != 3 {
		t.Fatalf("a healthy etcd: %v, %d claims", err, b.claims())
	}
	if _, err := b.etcd(0).Put(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	b.fails(1)
	if err := b.options.run(t.Context(), b.client); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), "data-etcd-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) || b.claims() != 2 {
		t.Errorf("%d claims are left; that of the member: %v", b.claims(), err)
	}
	answer, err := b.etcd(1).Get(t.Context(), "a")
	if err != nil || len(answer.Kvs) != 1 || string(answer.Kvs[0].Value) != "1" {
		t.Errorf("the replaced member has %v: %v", answer, err)
	}
}

// TestTwoMembersAreNotReplaced: without a majority no disk goes, since it may be the last one with the data.
func TestTwoMembersAreNotReplaced(t *testing.T) {
	b := newBed(t)
	b.fails(1)
	b.fails(2)
	var unrecoverable *Unrecoverable
	if err := b.options.run(t.Context(), b.client); !errors.As(err, &unrecoverable) || b.claims() != 3 {
		t.Errorf("%v, and %d claims are left", err, b.claims())
	}
}
