package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// resourcesOf are what the API server says of a group: resources by their kinds, all in namespaces.
func resourcesOf(group, version string, kinds map[string]string) map[string]any {
	var all []any
	for resource, kind := range kinds {
		all = append(all, map[string]any{"name": resource, "singularName": "", "namespaced": true, "kind": kind, "verbs": []string{"get", "list"}})
	}
	return map[string]any{"kind": "APIResourceList", "groupVersion": group + "/" + version, "resources": all}
}

// fleetServer is a management cluster with so many hosted clusters that counts what it is asked.
func fleetServer(t *testing.T, clusters int, asked *atomic.Int32) {
	t.Helper()
	group := func(name, version string) any {
		of := map[string]any{"groupVersion": name + "/" + version, "version": version}
		return map[string]any{"name": name, "versions": []any{of}, "preferredVersion": of}
	}
	var hostedClusters, pools, machines []any
	for i := range clusters {
		name := fmt.Sprintf("cluster-%03d", i)
		hostedClusters, pools = append(hostedClusters, surveytest.Cluster(name)), append(pools, surveytest.Pool(name, name, 2))
		for _, suffix := range []string{"-a", "-b"} {
			m := surveytest.NodeOf(surveytest.Machine(name, name+suffix, "InfrastructureReady True Ready", "NodeReady True NodeReady"), name+suffix)
			m.SetNamespace("clusters-" + name)
			machines = append(machines, m)
		}
	}
	list := func(kind, version string, items []any) any {
		return map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{}, "items": items}
	}
	answers := map[string]any{
		"/api":                                  map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis":                                 map[string]any{"kind": "APIGroupList", "groups": []any{group("hypershift.openshift.io", "v1beta1"), group("cluster.x-k8s.io", "v1beta2"), group("infrastructure.cluster.x-k8s.io", "v1beta1")}},
		"/apis/hypershift.openshift.io/v1beta1": resourcesOf("hypershift.openshift.io", "v1beta1", map[string]string{"hostedclusters": "HostedCluster", "nodepools": "NodePool"}),
		"/apis/cluster.x-k8s.io/v1beta2":        resourcesOf("cluster.x-k8s.io", "v1beta2", map[string]string{"machines": "Machine"}),
		"/apis/infrastructure.cluster.x-k8s.io/v1beta1":                            resourcesOf("infrastructure.cluster.x-k8s.io", "v1beta1", map[string]string{"azuremachines": "AzureMachine"}),
		"/apis/hypershift.openshift.io/v1beta1/hostedclusters":                     list("HostedClusterList", "hypershift.openshift.io/v1beta1", hostedClusters),
		"/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters": list("HostedClusterList", "hypershift.openshift.io/v1beta1", hostedClusters),
		"/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/nodepools":      list("NodePoolList", "hypershift.openshift.io/v1beta1", pools),
		"/apis/cluster.x-k8s.io/v1beta2/machines":                                  list("MachineList", "cluster.x-k8s.io/v1beta2", machines),
		"/apis/infrastructure.cluster.x-k8s.io/v1beta1/azuremachines":              list("AzureMachineList", "infrastructure.cluster.x-k8s.io/v1beta1", nil),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer, ok := answers[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			t.Errorf("asked for %s", r.URL)
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	kubeconfig := kubetest.Kubeconfig(t, &rest.Config{Host: server.URL}, t.TempDir())
	raw, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, bytes.ReplaceAll(raw, []byte("https://http://"), []byte("http://")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
}

// TestAHundredClusters: a hundred clusters with their machines take as many requests as one.
func TestAHundredClusters(t *testing.T) {
	counts := map[int]int32{}
	for _, clusters := range []int{1, 100} {
		var asked atomic.Int32
		fleetServer(t, clusters, &asked)
		var out, messages bytes.Buffer
		begin := time.Now()
		if status := Main([]string{"status"}, &out, &messages); status != 0 {
			t.Fatalf("%d: %s", status, messages.String())
		}
		if got := strings.Count(out.String(), "  Ready  "); got != 2*clusters {
			t.Errorf("%d of %d machines are shown", got, 2*clusters)
		}
		counts[clusters] = asked.Load()
		t.Logf("%d clusters: %d requests, %s", clusters, asked.Load(), time.Since(begin).Round(time.Millisecond))
	}
	if counts[100] != counts[1] || counts[1] > 12 {
		t.Errorf("requests by clusters: %v", counts)
	}
}

// TestCompletion: the tab key offers the names that are there, and nothing where the management cluster does not answer.
func TestCompletion(t *testing.T) {
	var asked atomic.Int32
	fleetServer(t, 2, &asked)
	for _, line := range []string{"status", "explain cluster", "explain nodepool", "get nodepools", "get nodepools --cluster-name", "scale nodepool", "pause cluster", "upgrade cluster", "wait nodepool", "logs --cluster", "dump cluster", "destroy cluster azure --name", "create kubeconfig --name", "create nodepool azure --cluster-name"} {
		var out, messages bytes.Buffer
		if status := Main(append(append([]string{"__complete"}, strings.Fields(line)...), ""), &out, &messages); status != 0 || !strings.Contains(out.String(), "cluster-000\ncluster-001\n") {
			t.Errorf("%s: %d %q %s", line, status, out.String(), messages.String())
		}
	}
	status, stdout, _ := run(t, "__complete", "explain", "cluster", "")
	if status != 0 || strings.TrimSpace(stdout) != ":4" {
		t.Errorf("%d %q", status, stdout)
	}
	if _, stdout, _ := run(t, "__complete", "status", "--output", ""); !strings.HasPrefix(stdout, "wide\njson\nyaml\n") {
		t.Errorf("%q", stdout)
	}
}

// TestMisspelt: what is mistyped is answered with what may be meant.
func TestMisspelt(t *testing.T) {
	for line, want := range map[string]string{
		"statsu": "did you mean status?", "get cluster-s": "did you mean clusters?", "explain clutser demo": "did you mean cluster?", "status --watsh": "did you mean --watch?",
		"destroy cluster azure --namme x": "did you mean --name?", "get clusters -o yml": "did you mean yaml?", "wait cluster demo --for availabel": "did you mean available?",
	} {
		if strings.HasPrefix(line, "wait") {
			var asked atomic.Int32
			fleetServer(t, 1, &asked)
			var out, messages bytes.Buffer
			if status := Main(strings.Fields(line), &out, &messages); status != 1 || !strings.Contains(messages.String(), want) {
				t.Errorf("%s: %d %s", line, status, messages.String())
			}
			continue
		}
		if status, _, stderr := run(t, strings.Fields(line)...); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %s", line, status, stderr)
		}
	}
}

// TestMisspeltValue: so is a value of those that a flag takes.
func TestMisspeltValue(t *testing.T) {
	inputs := clitest.Inputs(t)
	for line, want := range map[string]string{
		"create cluster azure --endpoint-access Pubic": "Public", "create cluster azure --arch amd46": "amd64", "create cluster azure --node-upgrade-type Replce": "Replace", "create cluster azure --image-generation gen2": "Gen2",
		"create cluster azure --encryption-at-host enabled": "Enabled", "create cluster azure --control-plane-availability-policy HighlyAvailble": "HighlyAvailable", "create cluster azure --network-type OVNKubernets": "OVNKubernetes",
		"create cluster azure --disable-cluster-capabilities ImageRegisty": "ImageRegistry", "create cluster azure --feature-set TechPreviewNoUpgrad": "TechPreviewNoUpgrade", "create cluster azure --diagnostics-storage-account-type Manged": "Managed",
		"create cluster azure --oauth-publishing-strategy Rout": "Route", "create cluster azure --olm-catalog-placement gest": "guest", "create cluster azure --disk-storage-account-type Premum_LRS": "Premium_LRS",
		"install render --format jsno": "json", "install render --outputs crd": "crds", "install --install-scope resource": "resources", "install --platform-monitoring OperatorOly": "OperatorOnly", "install --external-dns-provider azrue": "azure",
		"install --metrics-set Telemtry": "Telemetry", "graph cluster demo -o mermad": "mermaid",
	} {
		all := strings.Fields(line)
		if strings.HasPrefix(line, "create cluster") {
			all = append(append(all, "--name", "demo"), inputs...)
		}
		if status, _, stderr := run(t, all...); status != 1 || !strings.Contains(stderr, "did you mean "+want+"?") {
			t.Errorf("%s: %d %s", line, status, stderr)
		}
	}
}
