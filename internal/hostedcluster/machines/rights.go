package machines

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Accounts are those of Cluster API's managers of a payload of the kind, which look contracts up in the CRDs.
func Accounts(kind release.Kind) []workloads.Account {
	core := coreRules()
	if kind == release.KindOpenShift {
		core = append(core, poolRules()...)
	}
	definitions := []rbacv1.PolicyRule{workloads.Rule("apiextensions.k8s.io", workloads.ReadVerbs, "customresourcedefinitions")}
	return []workloads.Account{
		{Workload: contract.ClusterAPI, Rights: core, ClusterRights: definitions},
		{Workload: contract.ClusterAPIProvider, Rights: providerRules(), ClusterRights: definitions},
	}
}

// leaderRules are what every manager needs for its lease and its events.
func leaderRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		workloads.Rule("coordination.k8s.io", []string{"get", "create", "update"}, "leases"),
		workloads.Rule("", []string{"create", "patch"}, "events"),
		workloads.Rule("events.k8s.io", []string{"create", "patch"}, "events"),
	}
}

// coreRules: the core manager owns Machines and follows references to infrastructure and to the hosted control plane. It runs
// without the features that need more: no cluster classes, machine pools or runtime extensions. managerCalls of its test says what
// each right is for.
func coreRules() []rbacv1.PolicyRule {
	kinds := []string{"clusters", "machinedeployments", "machinesets", "machines", "machinehealthchecks"}
	return append(leaderRules(),
		workloads.Rule("cluster.x-k8s.io", []string{"get", "list", "watch", "patch"}, kinds...),
		workloads.Rule("cluster.x-k8s.io", []string{"create"}, "machinesets", "machines"),
		workloads.Rule("cluster.x-k8s.io", []string{"delete"}, "machinedeployments", "machinesets", "machines"),
		workloads.Rule("cluster.x-k8s.io", []string{"patch"}, suffixed(kinds, "/status")...),
		workloads.Rule("cluster.x-k8s.io", []string{"update"}, suffixed(kinds, "/finalizers")...),
		workloads.Rule("cluster.x-k8s.io", workloads.ReadVerbs, "machinedrainrules"),
		workloads.Rule("addons.cluster.x-k8s.io", workloads.ReadVerbs, "clusterresourcesets", "clusterresourcesetbindings"),
		workloads.Rule("infrastructure.cluster.x-k8s.io", []string{"get", "list", "watch", "patch"}, "azureclusters", "azuremachines", "azuremachinetemplates"),
		workloads.Rule("infrastructure.cluster.x-k8s.io", []string{"create"}, "azuremachines"),
		workloads.Rule("infrastructure.cluster.x-k8s.io", []string{"delete"}, "azureclusters", "azuremachines"),
		workloads.Rule("hypershift.openshift.io", []string{"get", "list", "watch", "patch", "delete"}, "hostedcontrolplanes"),
		workloads.Rule("", workloads.ReadVerbs, "secrets", "configmaps"),
	)
}

// poolRules: OpenShift's core manager is started with machine pools, of which there are none here, and waits for its cache of them.
func poolRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{workloads.Rule("cluster.x-k8s.io", workloads.ReadVerbs, "machinepools")}
}

// providerRules: the Azure manager works on AzureMachines and reads what they belong to; the AzureCluster is the operator's. It runs
// without machine pools and without Azure's own operator.
func providerRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		workloads.Rule("infrastructure.cluster.x-k8s.io", []string{"get", "list", "watch", "patch"}, "azuremachines"),
		workloads.Rule("infrastructure.cluster.x-k8s.io", []string{"patch"}, "azuremachines/status", "azuremachinetemplates/status"),
		workloads.Rule("infrastructure.cluster.x-k8s.io", workloads.ReadVerbs, "azureclusters", "azureclusteridentities", "azuremachinetemplates"),
		workloads.Rule("cluster.x-k8s.io", workloads.ReadVerbs, "clusters", "machines"),
		// It writes a cloud configuration per template, which nothing reads, and cannot be told not to.
		workloads.Rule("", []string{"get", "list", "watch", "create", "update"}, "secrets"),
	)
}

func suffixed(resources []string, suffix string) []string {
	var out []string
	for _, resource := range resources {
		out = append(out, resource+suffix)
	}
	return out
}
