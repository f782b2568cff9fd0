package hostedcluster

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// Names of the workloads this operator runs in the control-plane namespace; their service accounts and roles are named alike.
const (
	clusterAPIName           = "cluster-api"
	capiProviderName         = "capi-provider"
	controlPlaneOperatorName = "control-plane-operator"
)

var (
	readVerbs = []string{"get", "list", "watch"}
	// applyVerbs are what server-side apply and deletion take.
	applyVerbs = []string{"get", "list", "watch", "create", "patch", "delete"}
	// writeVerbs are those of ordinary life; "*" would hold "impersonate" as well.
	writeVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// leaderRules are what every manager needs for its lease and its events.
func leaderRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("coordination.k8s.io", []string{"get", "create", "update"}, "leases"),
		rule("", []string{"create", "patch"}, "events"),
		rule("events.k8s.io", []string{"create", "patch"}, "events"),
	}
}

// clusterAPIRules: the core manager owns Machines and follows references to infrastructure and to the hosted control plane. It runs
// without the features that need more: no cluster classes, machine pools or runtime extensions. managerCalls of its test says what
// each right is for.
func clusterAPIRules() []rbacv1.PolicyRule {
	kinds := []string{"clusters", "machinedeployments", "machinesets", "machines", "machinehealthchecks"}
	return append(leaderRules(),
		rule("cluster.x-k8s.io", []string{"get", "list", "watch", "patch"}, kinds...),
		rule("cluster.x-k8s.io", []string{"create"}, "machinesets", "machines"),
		rule("cluster.x-k8s.io", []string{"delete"}, "machinedeployments", "machinesets", "machines"),
		rule("cluster.x-k8s.io", []string{"patch"}, suffixed(kinds, "/status")...),
		rule("cluster.x-k8s.io", []string{"update"}, suffixed(kinds, "/finalizers")...),
		rule("cluster.x-k8s.io", readVerbs, "machinedrainrules"),
		rule("addons.cluster.x-k8s.io", readVerbs, "clusterresourcesets", "clusterresourcesetbindings"),
		rule("infrastructure.cluster.x-k8s.io", []string{"get", "list", "watch", "patch"}, "azureclusters", "azuremachines", "azuremachinetemplates"),
		rule("infrastructure.cluster.x-k8s.io", []string{"create"}, "azuremachines"),
		rule("infrastructure.cluster.x-k8s.io", []string{"delete"}, "azureclusters", "azuremachines"),
		rule("hypershift.openshift.io", []string{"get", "list", "watch", "patch", "delete"}, "hostedcontrolplanes"),
		rule("", readVerbs, "secrets", "configmaps"),
	)
}

// capiProviderRules: the Azure manager works on AzureMachines and reads what they belong to; the AzureCluster is the operator's. It runs
// without machine pools and without Azure's own operator.
func capiProviderRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rule("infrastructure.cluster.x-k8s.io", []string{"get", "list", "watch", "patch"}, "azuremachines"),
		rule("infrastructure.cluster.x-k8s.io", []string{"patch"}, "azuremachines/status", "azuremachinetemplates/status"),
		rule("infrastructure.cluster.x-k8s.io", readVerbs, "azureclusters", "azureclusteridentities", "azuremachinetemplates"),
		rule("cluster.x-k8s.io", readVerbs, "clusters", "machines"),
		// It writes a cloud configuration per template, which nothing reads, and cannot be told not to.
		rule("", []string{"get", "list", "watch", "create", "update"}, "secrets"),
	)
}

func suffixed(resources []string, suffix string) []string {
	var out []string
	for _, resource := range resources {
		out = append(out, resource+suffix)
	}
	return out
}

// controlPlaneOperatorRules: everything a control plane is made of, within its namespace. The operator may grant its components
// no more than this, so it includes what they need; and its image may come with the payload, so it includes what HyperShift's contract
// names, whether this project's own operator uses it or not (ContractRules).
func controlPlaneOperatorRules() []rbacv1.PolicyRule {
	return append(ContractRules(),
		rule("events.k8s.io", []string{"create", "patch"}, "events"),
		rule("", applyVerbs, "serviceaccounts"),
		rule("", readVerbs, "endpoints"),
		rule("", []string{"get", "list", "watch", "deletecollection"}, "pods"),
		rule("apps", []string{"deletecollection"}, "replicasets"),
		rule("route.openshift.io", []string{"create", "update"}, "routes/custom-host"),
		rule("route.openshift.io", []string{"patch"}, "routes/status"),
		rule("rbac.authorization.k8s.io", applyVerbs, "roles", "rolebindings"),
		rule("infrastructure.cluster.x-k8s.io", readVerbs, "azuremachinetemplates"),
	)
}

// ContractRules are the kinds that a control-plane-operator of any release finds open to it.
func ContractRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("hypershift.openshift.io", writeVerbs, "*"),
		rule("", writeVerbs, "configmaps", "secrets", "services"),
		rule("apps", writeVerbs, "deployments", "statefulsets"),
		rule("batch", writeVerbs, "jobs", "cronjobs"),
		rule("policy", writeVerbs, "poddisruptionbudgets"),
		rule("coordination.k8s.io", writeVerbs, "leases"),
		rule("discovery.k8s.io", writeVerbs, "endpointslices"),
		rule("monitoring.coreos.com", writeVerbs, "podmonitors", "servicemonitors"),
		rule("route.openshift.io", writeVerbs, "routes"),
		rule("cluster.x-k8s.io", writeVerbs, "*"),
	}
}

// clusterScopedRules are what a workload needs outside of its namespace; the managers of Cluster API look contracts up in the CRDs.
var clusterScopedRules = map[string][]rbacv1.PolicyRule{
	clusterAPIName: {
		rule("apiextensions.k8s.io", readVerbs, "customresourcedefinitions"),
	},
	capiProviderName: {
		rule("apiextensions.k8s.io", readVerbs, "customresourcedefinitions"),
	},
	controlPlaneOperatorName: {
		rule("config.openshift.io", readVerbs, "ingresses", "proxies", "infrastructures"),
	},
}

// ControlPlaneOperatorAccess is the account of the operator of one control plane, with its rights.
func ControlPlaneOperatorAccess(namespace string) []client.Object {
	return names{namespace: namespace}.workloadAccess(controlPlaneOperatorName, controlPlaneOperatorRules())
}

// workloadAccess returns service account, Role, ClusterRole and their bindings of one workload.
func (n names) workloadAccess(workload string, rules []rbacv1.PolicyRule) []client.Object {
	local := metav1.ObjectMeta{Name: workload, Namespace: n.namespace}
	global := metav1.ObjectMeta{Name: n.namespace + "-" + workload}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: workload, Namespace: n.namespace}}
	refTo := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: local, ImagePullSecrets: []corev1.LocalObjectReference{{Name: component.PullSecret}}},
		&rbacv1.Role{ObjectMeta: local, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: local, RoleRef: refTo("Role", workload), Subjects: subjects},
		&rbacv1.ClusterRole{ObjectMeta: global, Rules: clusterScopedRules[workload]},
		&rbacv1.ClusterRoleBinding{ObjectMeta: global, RoleRef: refTo("ClusterRole", global.Name), Subjects: subjects},
	}
}
