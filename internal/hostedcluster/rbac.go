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
	readVerbs   = []string{"get", "list", "watch"}
	updateVerbs = []string{"get", "list", "watch", "update", "patch"}
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
// without the features that need more: no cluster classes, machine pools or runtime extensions. TestManagersHoldNoMoreThanTheyNeed
// compares them with what Cluster API publishes.
func clusterAPIRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rule("cluster.x-k8s.io", updateVerbs, "clusters", "clusters/status", "clusters/finalizers"),
		rule("cluster.x-k8s.io", writeVerbs, "machinedeployments", "machinesets", "machines"),
		rule("cluster.x-k8s.io", updateVerbs, "machinehealthchecks",
			"machinedeployments/status", "machinesets/status", "machines/status", "machinehealthchecks/status",
			"machinedeployments/finalizers", "machinesets/finalizers", "machines/finalizers", "machinehealthchecks/finalizers"),
		rule("cluster.x-k8s.io", readVerbs, "machinedrainrules"),
		rule("addons.cluster.x-k8s.io", readVerbs, "clusterresourcesets", "clusterresourcesetbindings"),
		rule("ipam.cluster.x-k8s.io", readVerbs, "ipaddressclaims", "ipaddresses"),
		rule("infrastructure.cluster.x-k8s.io", writeVerbs, "azureclusters", "azuremachines", "azuremachinetemplates"),
		rule("hypershift.openshift.io", []string{"get", "list", "watch", "update", "patch", "delete"}, "hostedcontrolplanes"),
		rule("", []string{"get", "list", "watch", "update", "patch"}, "secrets"),
		rule("", readVerbs, "configmaps"),
	)
}

// capiProviderRules: the Azure manager owns the Azure kinds and reads the core's. It runs without machine pools and without Azure's
// own operator, and no machine gets a cloud configuration from it.
func capiProviderRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rule("infrastructure.cluster.x-k8s.io", updateVerbs, "azureclusters", "azuremachines", "azureclusteridentities"),
		rule("infrastructure.cluster.x-k8s.io", []string{"get", "update", "patch"},
			"azureclusters/status", "azuremachines/status", "azureclusteridentities/status", "azuremachinetemplates/status"),
		rule("infrastructure.cluster.x-k8s.io", readVerbs, "azuremachinetemplates"),
		rule("cluster.x-k8s.io", readVerbs, "clusters", "clusters/status", "machines", "machines/status"),
		rule("", readVerbs, "secrets"),
	)
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
		rule("", readVerbs, "namespaces"),
	},
	capiProviderName: {
		rule("apiextensions.k8s.io", readVerbs, "customresourcedefinitions"),
		rule("", []string{"list"}, "namespaces"),
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
