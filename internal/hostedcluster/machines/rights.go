package machines

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Accounts are those of Cluster API's managers of a payload of the kind, which look contracts up in the CRDs.
func Accounts(kind release.Kind) []workloads.Account {
	core := coreRules()
	if kind == release.KindOpenShift {
		core = append(core, poolRules()...)
	}
	definitions := []rbacv1.PolicyRule{rbac.Rule("apiextensions.k8s.io", rbac.Read, "customresourcedefinitions")}
	return []workloads.Account{
		{Workload: contract.ClusterAPI, Rights: core, ClusterRights: definitions},
		{Workload: contract.ClusterAPIProvider, Rights: providerRules(), ClusterRights: definitions},
	}
}

// leaderRules are what every manager needs for its lease and its events.
func leaderRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rbac.Rule("coordination.k8s.io", "get,create,update", "leases"),
		rbac.Rule("", "create,patch", "events"),
		rbac.Rule("events.k8s.io", "create,patch", "events"),
	}
}

// coreRules: the core manager owns Machines and follows references to infrastructure and to the hosted control plane. It runs
// without the features that need more: no cluster classes, machine pools or runtime extensions. managerCalls of its test says what
// each right is for.
func coreRules() []rbacv1.PolicyRule {
	kinds := []string{"clusters", "machinedeployments", "machinesets", "machines", "machinehealthchecks"}
	return append(leaderRules(),
		rbac.Rule("cluster.x-k8s.io", "get,list,watch,patch", kinds...),
		rbac.Rule("cluster.x-k8s.io", "create", "machinesets", "machines"),
		rbac.Rule("cluster.x-k8s.io", "delete", "machinedeployments", "machinesets", "machines"),
		rbac.Rule("cluster.x-k8s.io", "patch", suffixed(kinds, "/status")...),
		rbac.Rule("cluster.x-k8s.io", "update", suffixed(kinds, "/finalizers")...),
		rbac.Rule("cluster.x-k8s.io", rbac.Read, "machinedrainrules"),
		rbac.Rule("addons.cluster.x-k8s.io", rbac.Read, "clusterresourcesets", "clusterresourcesetbindings"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "get,list,watch,patch", "azureclusters", "azuremachines", "azuremachinetemplates"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "create", "azuremachines"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "delete", "azureclusters", "azuremachines"),
		rbac.Rule("hypershift.openshift.io", "get,list,watch,patch,delete", "hostedcontrolplanes"),
		rbac.Rule("", rbac.Read, "secrets", "configmaps"),
	)
}

// poolRules: OpenShift's core manager is started with machine pools, of which there are none here, and waits for its cache of them.
func poolRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{rbac.Rule("cluster.x-k8s.io", rbac.Read, "machinepools")}
}

// providerRules: the Azure manager works on AzureMachines and reads what they belong to; the AzureCluster is the operator's. It runs
// without machine pools and without Azure's own operator.
func providerRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "get,list,watch,patch", "azuremachines"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "patch", "azuremachines/status", "azuremachinetemplates/status"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", rbac.Read, "azureclusters", "azureclusteridentities", "azuremachinetemplates"),
		rbac.Rule("cluster.x-k8s.io", rbac.Read, "clusters", "machines"),
		// It writes a cloud configuration per template, which nothing reads, and cannot be told not to.
		rbac.Rule("", "get,list,watch,create,update", "secrets"),
	)
}

func suffixed(resources []string, suffix string) []string {
	var out []string
	for _, resource := range resources {
		out = append(out, resource+suffix)
	}
	return out
}
