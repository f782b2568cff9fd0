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
	// allVerbs are those of ordinary life; "*" would hold "impersonate" as well.
	allVerbs   = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	readVerbs  = []string{"get", "list", "watch"}
	writeVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// leaderRules are what every manager needs for its lease and its events.
func leaderRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("coordination.k8s.io", allVerbs, "leases"),
		rule("", []string{"create", "get", "list", "patch", "update", "watch"}, "events"),
		rule("events.k8s.io", []string{"create", "get", "list", "patch", "update", "watch"}, "events"),
	}
}

// clusterAPIRules: the core manager owns Machines and follows references to infrastructure and to the hosted control plane.
func clusterAPIRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rule("cluster.x-k8s.io", allVerbs, "*"),
		rule("addons.cluster.x-k8s.io", allVerbs, "*"),
		rule("ipam.cluster.x-k8s.io", readVerbs, "*"),
		rule("infrastructure.cluster.x-k8s.io", writeVerbs, "*"),
		rule("hypershift.openshift.io", []string{"get", "list", "watch", "update", "patch", "delete"}, "hostedcontrolplanes"),
		rule("hypershift.openshift.io", []string{"get", "update", "patch"}, "hostedcontrolplanes/status", "hostedcontrolplanes/finalizers"),
		rule("", writeVerbs, "secrets"),
		rule("", readVerbs, "configmaps"),
	)
}

// capiProviderRules: the Azure manager owns the Azure kinds and reads the core's.
func capiProviderRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rule("infrastructure.cluster.x-k8s.io", allVerbs, "*"),
		rule("cluster.x-k8s.io", []string{"get", "list", "watch", "patch", "update"}, "clusters", "clusters/status", "machines", "machines/status", "machinepools", "machinepools/status"),
		rule("cluster.x-k8s.io", []string{"delete"}, "machines"),
		rule("cluster.x-k8s.io", readVerbs, "machinesets", "machinedeployments"),
		rule("", writeVerbs, "secrets"),
		rule("", readVerbs, "configmaps"),
	)
}

// controlPlaneOperatorRules: everything a control plane is made of, within its namespace. The operator may grant its components
// no more than this, so it includes what they need.
func controlPlaneOperatorRules() []rbacv1.PolicyRule {
	return append(leaderRules(),
		rule("hypershift.openshift.io", allVerbs, "*"),
		rule("", allVerbs, "configmaps", "secrets", "services", "serviceaccounts", "persistentvolumeclaims", "pods", "pods/log", "endpoints"),
		rule("apps", allVerbs, "deployments", "deployments/scale", "replicasets", "statefulsets"),
		rule("batch", allVerbs, "jobs", "cronjobs"),
		rule("policy", allVerbs, "poddisruptionbudgets"),
		rule("discovery.k8s.io", allVerbs, "endpointslices"),
		rule("networking.k8s.io", allVerbs, "networkpolicies"),
		rule("monitoring.coreos.com", allVerbs, "podmonitors", "servicemonitors"),
		rule("route.openshift.io", allVerbs, "routes", "routes/custom-host", "routes/status"),
		rule("rbac.authorization.k8s.io", writeVerbs, "roles", "rolebindings"),
		rule("cluster.x-k8s.io", writeVerbs, "*"),
		rule("infrastructure.cluster.x-k8s.io", readVerbs, "*"),
	)
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
