package hostedcluster

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// TestClusterAPIManagers runs Cluster API's real managers with the flags and the access this operator gives them, with either kind of payload: the
// Cluster is provisioned, and deleting the HostedCluster takes it down through them.
func TestClusterAPIManagers(t *testing.T) {
	t.Run("Kubernetes", func(t *testing.T) { runManagers(t, "managers", releasetest.Payload{Version: "4.21.0"}) })
	t.Run("OpenShift", func(t *testing.T) {
		runManagers(t, "managers-openshift", releasetest.Payload{Version: "5.0.0", With: releasetest.OpenShiftKeys})
	})
}

func runManagers(t *testing.T, name string, payload releasetest.Payload) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs two managers for half a minute")
	}
	programs := map[string]string{contract.ClusterAPI: kubetest.Program(t, "cluster-api"), contract.ClusterAPIProvider: kubetest.Program(t, "cluster-api-provider-azure")}
	f := newFixture(t, name)
	hc := f.cluster()
	hc.Spec.Release.Image = releasetest.New(t).PushPayload(t, "some", payload)
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.reconcile(t)
	f.playControlPlane(t)
	f.reconcile(t)
	for workload, program := range programs {
		f.runManager(t, workload, program)
	}
	infraID := f.get(t).Spec.InfraID
	eventually(t, "the Cluster is provisioned", func() bool {
		cluster := clusterapi.New(clusterapi.Cluster, f.namespace, infraID)
		f.read(t, cluster)
		phase, _, _ := unstructured.NestedString(cluster.Object, "status", "phase")
		return phase == "Provisioned"
	})
	if err := f.client.Delete(t.Context(), f.get(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the HostedCluster is gone", func() bool {
		f.reconcile(t)
		f.playNamespaceController(t)
		return apierrors.IsNotFound(f.client.Get(t.Context(), f.request.NamespacedName, &hyperv1.HostedCluster{}))
	})
}

// runManager starts what the Deployment describes, as its service account, on free ports, and waits until it is ready.
func (f *fixture) runManager(t *testing.T, workload, program string) {
	t.Helper()
	folder := t.TempDir()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: machines.WebhookCertSecret, Namespace: f.namespace}}
	f.read(t, secret)
	for file, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	health := kubetest.FreeAddress(t)
	webhookPort := kubetest.FreePort(t)
	args := []string{"--kubeconfig=" + f.kubeconfig(t, workload, folder), "--webhook-port=" + webhookPort}
	for _, arg := range f.deployment(t, workload).Spec.Template.Spec.Containers[0].Args {
		switch {
		case strings.HasPrefix(arg, "--health-addr="), strings.HasPrefix(arg, "--diagnostics-address="), strings.HasPrefix(arg, "--webhook-cert-dir="):
			continue
		case strings.HasPrefix(arg, "--leader-elect"):
			// Outside of a pod there is no namespace to elect in.
			continue
		}
		args = append(args, arg)
	}
	args = append(args, "--health-addr="+health, "--diagnostics-address="+kubetest.FreeAddress(t), "--webhook-cert-dir="+folder)
	output := &lockedBuffer{}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if strings.Contains(output.String(), "is forbidden") {
			t.Errorf("%s lacks access:\n%s", workload, linesWith(output.String(), "is forbidden"))
		}
		if t.Failed() {
			t.Logf("%s:\n%s", workload, output.String())
		}
	})
	eventually(t, workload+" is ready", func() bool {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func (f *fixture) kubeconfig(t *testing.T, account, folder string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: f.namespace}}
	if err := f.client.SubResource("token").Create(t.Context(), owner, request); err != nil {
		t.Fatal(err)
	}
	as := rest.AnonymousClientConfig(f.config)
	as.BearerToken = request.Status.Token
	return kubetest.Kubeconfig(t, as, folder)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is not true that %s", what)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func linesWith(text, part string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
