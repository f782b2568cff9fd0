package machines

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	groupCluster        = "cluster.x-k8s.io"
	groupInfrastructure = "infrastructure.cluster.x-k8s.io"
)

// managerCalls are the calls of Cluster API's managers by what they are for. They are those of an audit log of the sandbox's management
// cluster, with machines that come, go and are watched over, and clusters that end; what such a log lacks is what OpenShift asks of
// whoever writes an owner reference (finalizers), and reads past a cache.
var managerCalls = map[string]map[string][]kubetest.Right{
	contract.ClusterAPI: {
		"its lease and its events": running,
		"machines and what makes them": slices.Concat(reads(groupCluster, "machinedeployments", "patch", "delete"),
			reads(groupCluster, "machinesets", "create", "patch", "delete"), reads(groupCluster, "machines", "create", "patch", "delete")),
		"the cluster and the health of machines": slices.Concat(reads(groupCluster, "clusters", "patch"), reads(groupCluster, "machinehealthchecks", "patch")),
		"what it finds out":                      onEach("patch", "/status"),
		"owner references":                       onEach("update", "/finalizers"),
		"how nodes are drained":                  reads(groupCluster, "machinedrainrules"),
		"controllers that cannot be switched off": slices.Concat(reads("addons.cluster.x-k8s.io", "clusterresourcesets"),
			reads("addons.cluster.x-k8s.io", "clusterresourcesetbindings"), reads("", "configmaps")),
		"the infrastructure of both": slices.Concat(reads(groupInfrastructure, "azureclusters", "patch", "delete"),
			reads(groupInfrastructure, "azuremachines", "create", "patch", "delete"), reads(groupInfrastructure, "azuremachinetemplates", "patch")),
		"the control plane, which goes with the cluster": reads("hypershift.openshift.io", "hostedcontrolplanes", "patch", "delete"),
		"the way into the guest":                         reads("", "secrets"),
		"versions of kinds it refers to":                 reads("apiextensions.k8s.io", "customresourcedefinitions"),
	},
	contract.ClusterAPIProvider: {
		"its lease and its events": running,
		"virtual machines":         slices.Concat(reads(groupInfrastructure, "azuremachines", "patch"), kubetest.Rights(groupInfrastructure, "azuremachines/status", "patch")),
		"what they belong to": slices.Concat(reads(groupInfrastructure, "azureclusters"), reads(groupInfrastructure, "azureclusteridentities"),
			reads(groupCluster, "clusters"), reads(groupCluster, "machines")),
		"what nodes of a template have":                           slices.Concat(reads(groupInfrastructure, "azuremachinetemplates"), kubetest.Rights(groupInfrastructure, "azuremachinetemplates/status", "patch")),
		"user data, and its cloud configuration of each template": reads("", "secrets", "create", "update"),
		"versions of kinds it refers to":                          reads("apiextensions.k8s.io", "customresourcedefinitions"),
	},
}

var running = slices.Concat(kubetest.Rights("coordination.k8s.io", "leases", "get", "create", "update"),
	kubetest.Rights("", "events", "create", "patch"), kubetest.Rights("events.k8s.io", "events", "create", "patch"))

// unpublished are those of the calls that the projects of the managers do not publish: the hosted control plane is of a group that they
// do not know, and events are written as client-go does now.
var unpublished = slices.Concat(reads("hypershift.openshift.io", "hostedcontrolplanes", "patch", "delete"), kubetest.Rights("events.k8s.io", "events", "create", "patch"))

func reads(group, resource string, more ...string) []kubetest.Right {
	return kubetest.Rights(group, resource, append([]string{"get", "list", "watch"}, more...)...)
}

func onEach(verb, subresource string) []kubetest.Right {
	var out []kubetest.Right
	for _, resource := range []string{"clusters", "machinedeployments", "machinesets", "machines", "machinehealthchecks"} {
		out = append(out, kubetest.Rights(groupCluster, resource+subresource, verb)...)
	}
	return out
}

// published are the rights that the project of a manager publishes for it.
func published(t *testing.T, workload string) []kubetest.Right {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "rights", workload+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rights []kubetest.Right
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(document, role); err != nil {
			t.Fatalf("%s: %v", workload, err)
		}
		rights = append(rights, kubetest.Expand(role.Rules)...)
	}
	return rights
}

// TestManagersHoldNoMoreThanTheyNeed lists each right of Cluster API's managers that nothing uses, each that is missing, and each beyond
// what their projects publish.
func TestManagersHoldNoMoreThanTheyNeed(t *testing.T) {
	for _, kind := range []release.Kind{release.KindKubernetes, release.KindOpenShift} {
		t.Run(string(kind), func(t *testing.T) { checkManagers(t, kind) })
	}
}

// poolCalls are those of OpenShift's core manager besides.
var poolCalls = map[release.Kind]map[string][]kubetest.Right{release.KindOpenShift: {contract.ClusterAPI: reads(groupCluster, "machinepools")}}

func checkManagers(t *testing.T, kind release.Kind) {
	t.Helper()
	for _, account := range Accounts(kind) {
		workload, held := account.Workload, kubetest.Expand(account.AllRights())
		needed := slices.Clone(poolCalls[kind][workload])
		for _, calls := range managerCalls[workload] {
			needed = append(needed, calls...)
		}
		theirs := append(published(t, workload), unpublished...)
		for _, right := range held {
			if !kubetest.Covers(needed, right) {
				t.Errorf("%s: nothing uses the right to %s", workload, right)
			}
			if !kubetest.Covers(theirs, right) {
				t.Errorf("%s: its project does not ask for the right to %s", workload, right)
			}
		}
		for _, right := range needed {
			if !kubetest.Covers(held, right) {
				t.Errorf("%s: the right to %s is needed and not held", workload, right)
			}
		}
	}
}
