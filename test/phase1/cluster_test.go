package phase1

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// management is a management cluster without an operator: what create cluster applies stays as it is.
func management(t *testing.T) (client.Client, string) {
	t.Helper()
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = hyperv1.AddToScheme(scheme)
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	return c, "KUBECONFIG=" + kubetest.Kubeconfig(t, config, t.TempDir())
}

// TestClusterKeepsARecord has create cluster make its own infrastructure: the hand-off file and the Secret beside the HostedCluster
// then hold what was made, and destroy works from either.
func TestClusterKeepsARecord(t *testing.T) {
	c, kubeconfig := management(t)
	dir := t.TempDir()
	w := startWorld(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "pull-secret.json"), []byte(`{"auths":{}}`), 0o600))
	sh := w.shell(t, dir, kubeconfig)
	sh.run("hypershift", "create", "oidc-issuer", "azure", "--name", "demo", "--resource-group-name", "common", "--private-key", w.key, "--azure-creds", w.credentials, "--handoff", "demo.yaml")
	sh.run("hypershift", "create", "iam", "azure", "--infra-id", "demo-1", "--azure-creds", w.credentials, "--handoff", "demo.yaml")
	create := strings.Fields("hypershift create cluster azure --from demo.yaml --base-domain example.com --pull-secret pull-secret.json --release-image quay.io/ocp:4.21 " +
		"--assign-service-principal-roles --node-pool-replicas 1 --resource-group-tags team=blue --azure-creds " + w.credentials)

	plan, _ := sh.run(append(create, "--dry-run", "-o", "json")...)
	for _, want := range []string{`"kind": "load balancer"`, `"kind": "HostedCluster"`, `"action": "apply"`} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %s:\n%s", want, plan)
		}
	}
	sh.run(create...)
	written, err := handoff.Read(filepath.Join(dir, "demo.yaml"))
	must(t, err)
	if written.Infra == nil || len(written.Made(infra.Stack)) < 20 {
		t.Fatalf("the file holds %+v", written)
	}
	secret, key := &corev1.Secret{}, client.ObjectKey{Namespace: "clusters", Name: "demo-azure-inventory"}
	must(t, c.Get(t.Context(), key, secret))
	beside, err := handoff.Parse(secret.Data["handoff.yaml"])
	must(t, err)
	if len(beside.Made(infra.Stack)) != len(written.Made(infra.Stack)) {
		t.Errorf("the Secret has %d resources on record, the file %d", len(beside.Inventory), len(written.Inventory))
	}
	before := mustRead(t, filepath.Join(dir, "demo.yaml"))
	if _, messages := sh.run(create...); strings.Contains(messages, "created") {
		t.Errorf("a second run makes something:\n%s", messages)
	}
	if after := mustRead(t, filepath.Join(dir, "demo.yaml")); string(after) != string(before) {
		t.Errorf("a second run changes the file:\n%s", after)
	}

	// Somebody has deleted the HostedCluster, and the file is lost.
	must(t, c.Delete(t.Context(), &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}))
	destroy := []string{"hypershift", "destroy", "cluster", "azure", "--name", "demo", "--azure-creds", w.credentials}
	if plan, _ := sh.run(append(destroy, "--dry-run")...); !strings.Contains(plan, "demo-demo-1") {
		t.Errorf("the plan is\n%s", plan)
	}
	if removed, _ := sh.run(append(destroy, "-o", "json")...); !strings.Contains(removed, `"name": "demo-nsg-demo-1"`) {
		t.Errorf("removed\n%s", removed)
	}
	if err := c.Get(t.Context(), key, secret); !apierrors.IsNotFound(err) {
		t.Errorf("the record is still there: %v", err)
	}
	w.nothingLeft(t, "demo", "demo-1")
	if _, messages, err := sh.try(destroy...); err == nil || !strings.Contains(messages, "required inputs are missing") {
		t.Errorf("%v: %s", err, messages)
	}
	// The file is stale by now; what it lists is gone, which is success.
	sh.run(append(destroy, "--from", "demo.yaml")...)
}

// nothingLeft looks for the groups of a cluster's infrastructure and for its roles on those that stay.
func (w *world) nothingLeft(t *testing.T, name, infraID string) {
	t.Helper()
	s, err := w.signIn()
	must(t, err)
	for _, group := range []string{name + "-" + infraID, name + "-vnet-" + infraID, name + "-nsg-" + infraID} {
		if _, err := s.Get(context.Background(), s.GroupID(group), "2021-04-01"); !failure.IsNotFound(err) {
			t.Errorf("resource group %s: %v", group, err)
		}
	}
	left, err := s.AssignmentsBelow(context.Background())
	must(t, err)
	for _, a := range left {
		if strings.Contains(a.Scope, "/resourceGroups/parent") {
			t.Errorf("role assignment %s is left on %s", a.Name, a.Scope)
		}
	}
}
