package phase1

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// held is a hosted cluster of rendered manifests that somebody's finalizer holds, with the record of its applications in Azure.
type held struct {
	shell
	*world
	client.Client
	destroy []string
}

var demoKey = client.ObjectKey{Namespace: "clusters", Name: "demo"}

func newHeld(t *testing.T) *held {
	t.Helper()
	c, kubeconfig := management(t)
	dir := t.TempDir()
	w := startWorld(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "pull-secret.json"), []byte(`{"auths":{}}`), 0o600))
	h := &held{shell: w.shell(t, dir, kubeconfig), world: w, Client: c,
		destroy: []string{"hypershift", "destroy", "cluster", "azure", "--name", "demo", "--azure-creds", w.credentials}}
	h.run("hypershift", "create", "oidc-issuer", "azure", "--name", "demo", "--resource-group-name", "common", "--private-key", w.key, "--azure-creds", w.credentials, "--handoff", "demo.yaml")
	h.run("hypershift", "create", "iam", "azure", "--infra-id", "demo-1", "--azure-creds", w.credentials, "--handoff", "demo.yaml")
	h.run("hypershift", "create", "infra", "azure", "--base-domain", "example.com", "--assign-identity-roles", "--apps-zone", "shared", "--azure-creds", w.credentials, "--handoff", "demo.yaml")
	manifests, _ := h.run(strings.Fields("hypershift create cluster azure --from demo.yaml --pull-secret pull-secret.json --release-image quay.io/ocp:4.21 --generate-ssh " +
		"--render --render-sensitive --azure-creds " + w.credentials)...)
	must(t, os.WriteFile(filepath.Join(dir, "cluster.yaml"), []byte(manifests), 0o600))
	h.run(kubetest.Program(t, "kubectl"), "apply", "-f", "cluster.yaml")
	h.hold(t)
	for _, owner := range []string{"demo-1", "other-1"} {
		h.record(t, "*.apps."+owner[:len(owner)-2], owner)
	}
	return h
}

// hold has a controller that never lets go, and says why.
func (h *held) hold(t *testing.T) {
	t.Helper()
	hc := &hyperv1.HostedCluster{}
	must(t, h.Get(t.Context(), demoKey, hc))
	hc.Finalizers = []string{"example.com/held"}
	must(t, h.Update(t.Context(), hc))
	hc.Status.Conditions = []metav1.Condition{{Type: string(hyperv1.HostedClusterDestroyed), Status: "False", Reason: "DeletingMachines",
		Message: "Waiting for 2 Machines", LastTransitionTime: metav1.Now()}}
	must(t, h.Status().Update(t.Context(), hc))
	pool := &hyperv1.NodePool{}
	must(t, h.Get(t.Context(), demoKey, pool))
	pool.Finalizers = hc.Finalizers
	must(t, h.Update(t.Context(), pool))
}

func (h *held) record(t *testing.T, name, infraID string) {
	t.Helper()
	s, err := h.signIn()
	must(t, err)
	_, err = s.Put(t.Context(), h.recordID(s, name), "2018-05-01", azure.Resource{Properties: map[string]any{"TTL": 30,
		"ARecords": []any{map[string]any{"ipv4Address": "198.18.16.9"}}, "metadata": map[string]any{"hypershift_infra_id": infraID}}})
	must(t, err)
}

func (h *held) recordID(s *azure.Session, name string) string {
	return s.ResourceID("parent", "Microsoft.Network/dnszones", "example.com") + "/A/" + name
}

// TestDestroyClusterEnds is the end of the grace period: it is always recognised, says what is left and what to type, and --force then
// leaves nothing, not in DNS and no Secret that was rendered.
func TestDestroyClusterEnds(t *testing.T) {
	h := newHeld(t)
	for range 6 { // whatever call the end meets
		_, messages, err := h.try(append(h.destroy, "--cluster-grace-period", "2s")...)
		for _, want := range []string{"wasn't finalized within 2s", "HostedCluster clusters/demo: Waiting for 2 Machines", "NodePool clusters/demo", strings.Join(h.destroy, " ") + " --cluster-grace-period 2s --force"} {
			if err == nil || !strings.Contains(messages, want) {
				t.Fatalf("%v, no %q in\n%s", err, want, messages)
			}
		}
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "mine", Labels: map[string]string{hyperv1.DeleteWithClusterLabel: "true"}}}
	must(t, h.Create(t.Context(), other))
	h.run(append(h.destroy, "--cluster-grace-period", "2s", "--force")...)

	if err := h.Get(t.Context(), demoKey, &hyperv1.HostedCluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("the HostedCluster is still there: %v", err)
	}
	secrets := &corev1.SecretList{}
	must(t, h.List(t.Context(), secrets, client.InNamespace("clusters")))
	if len(secrets.Items) != 1 || secrets.Items[0].Name != "mine" {
		t.Errorf("%d Secrets are left, want one that is the user's: %v", len(secrets.Items), secrets.Items)
	}
	s, err := h.signIn()
	must(t, err)
	if _, err := s.Get(context.Background(), h.recordID(s, "*.apps.demo"), "2018-05-01"); !failure.IsNotFound(err) {
		t.Errorf("the record of the applications is left: %v", err)
	}
	if _, err := s.Get(context.Background(), h.recordID(s, "*.apps.other"), "2018-05-01"); err != nil {
		t.Errorf("another cluster's record is gone: %v", err)
	}
	h.nothingLeft(t, "demo", "demo-1")
}

// TestInterruptedDestroy: after an interrupt three lines say what was under way, what is done and what to type.
func TestInterruptedDestroy(t *testing.T) {
	h := newHeld(t)
	messages, status := h.interrupt(t, "Waiting for 2 Machines", h.destroy...)
	if status != 130 {
		t.Errorf("status %d, want 130", status)
	}
	_, end, _ := strings.Cut(messages, "aborted: ")
	if end = "aborted: " + end; strings.Count(end, "\n") != 3 || !strings.Contains(end, "Waiting for 2 Machines") || !strings.Contains(end, "type the same command again: "+strings.Join(h.destroy, " ")+"\n") {
		t.Errorf("it ends with\n%s", messages)
	}
	if strings.Contains(end, "context canceled") || strings.Contains(end, "cannot read") {
		t.Errorf("the interrupt is told as a failure:\n%s", end)
	}
}

// interrupt sends SIGINT once the command has said something.
func (h *held) interrupt(t *testing.T, once string, args ...string) (messages string, status int) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = h.dir, h.env
	seen := &watched{text: once, seen: make(chan struct{})}
	cmd.Stderr = seen
	must(t, cmd.Start())
	select {
	case <-seen.seen:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the command ended with %v\n%s", err, seen.String())
	}
	return seen.String(), exit.ExitCode()
}

// watched closes seen when the text was written.
type watched struct {
	written bytes.Buffer
	text    string
	seen    chan struct{}
}

func (w *watched) String() string { return w.written.String() }

func (w *watched) Write(p []byte) (int, error) {
	before := strings.Contains(w.String(), w.text)
	n, err := w.written.Write(p)
	if !before && strings.Contains(w.String(), w.text) {
		close(w.seen)
	}
	return n, err
}

// TestDestroyBeneathALiveCluster: what a hosted cluster lives on goes only when that is meant, and nothing waits for a terminal.
func TestDestroyBeneathALiveCluster(t *testing.T) {
	h := newHeld(t)
	for what, args := range map[string][]string{
		"the infrastructure demo-1":                  {"destroy", "infra", "azure", "--from", "demo.yaml"},
		"the identities of infrastructure id demo-1": {"destroy", "iam", "azure", "--name", "demo", "--infra-id", "demo-1", "--resource-group-name", "common"},
		"the issuer of demo":                         {"destroy", "oidc-issuer", "azure", "--name", "demo", "--resource-group-name", "common"},
		"the DNS zone example.com":                   {"destroy", "dns", "azure", "--dns-zone-name", "example.com", "--resource-group-name", "parent", "--force"},
	} {
		command := append(append([]string{"hypershift"}, args...), "--azure-creds", h.credentials)
		_, messages, err := h.try(command...)
		for _, want := range []string{"nothing was destroyed: HostedCluster clusters/demo would not work any more without " + what, "hypershift destroy cluster azure --name demo --namespace clusters", "--yes"} {
			if err == nil || !strings.Contains(messages, want) {
				t.Errorf("%s: %v, no %q in %s", what, err, want, messages)
			}
		}
		if _, messages := h.run(append(command, "--dry-run")...); !strings.Contains(messages, "warning: HostedCluster clusters/demo would not work any more without "+what) {
			t.Errorf("the plan of %s does not warn: %s", what, messages)
		}
	}
	// A management cluster that does not answer leaves it open.
	alone := h.shell
	alone.env = append(alone.env, "KUBECONFIG="+filepath.Join(h.dir, "dead.kubeconfig"))
	must(t, os.WriteFile(filepath.Join(h.dir, "dead.kubeconfig"), []byte(deadKubeconfig), 0o600))
	infra := []string{"hypershift", "destroy", "infra", "azure", "--from", "demo.yaml", "--azure-creds", h.credentials}
	if _, messages, err := alone.try(infra...); err == nil || !strings.Contains(messages, "cannot tell whether a hosted cluster uses the infrastructure demo-1") {
		t.Errorf("%v: %s", err, messages)
	}
	if _, messages := h.run(append(infra, "--yes")...); !strings.Contains(messages, "warning: HostedCluster clusters/demo would not work any more without the infrastructure demo-1") {
		t.Errorf("--yes: %s", messages)
	}
	h.nothingLeft(t, "demo", "demo-1")
	// Nobody uses these.
	h.run("hypershift", "destroy", "iam", "azure", "--name", "other", "--infra-id", "other-1", "--resource-group-name", "common", "--azure-creds", h.credentials)
}

const deadKubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}],
  "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}]}`

// TestDestroyByName: a name that is not there is said to be none, and a node pool is destroyed by its name.
func TestDestroyByName(t *testing.T) {
	h := newHeld(t)
	_, messages, err := h.try("hypershift", "destroy", "cluster", "azure", "--name", "typo", "--azure-creds", h.credentials)
	for _, want := range []string{"there is no HostedCluster typo in namespace clusters", "--infra-id", "--from"} {
		if err == nil || !strings.Contains(messages, want) {
			t.Errorf("%v, no %q in %s", err, want, messages)
		}
	}
	if _, messages := h.run("hypershift", "destroy", "nodepool", "--name", "typo"); !strings.Contains(messages, "NodePool clusters/typo is gone already, or never was; the namespace has: demo") {
		t.Errorf("a mistyped node pool: %s", messages)
	}
	destroy := []string{"hypershift", "destroy", "nodepool", "azure", "--name", "demo"}
	if plan, _ := h.run(append(destroy, "--dry-run")...); !strings.Contains(plan, "NodePool") || !strings.Contains(plan, "clusters/demo") {
		t.Errorf("the plan is %s", plan)
	}
	if out, _ := h.run(append(destroy, "--wait=false")...); !strings.Contains(out, "NodePool demo is being destroyed") {
		t.Errorf("nobody waits, and the command says %q", out)
	}
	if _, messages, err := h.try(append(destroy, "--timeout", "2s")...); err == nil || !strings.Contains(messages, "NodePool clusters/demo is not gone after 2s") {
		t.Errorf("a pool that is held: %v, %s", err, messages)
	}
	pool := &hyperv1.NodePool{}
	must(t, h.Get(t.Context(), demoKey, pool))
	pool.Finalizers = nil
	must(t, h.Update(t.Context(), pool))
	if messages, _ := h.run(destroy...); messages != "" {
		t.Errorf("a pool that is gone: %s", messages)
	}
	if err := h.Get(t.Context(), demoKey, &hyperv1.HostedCluster{}); err != nil {
		t.Errorf("the hosted cluster went with its node pool: %v", err)
	}
}
