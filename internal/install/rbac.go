package install

import rbacv1 "k8s.io/api/rbac/v1"

var (
	all   = []string{"*"}
	read  = []string{"get", "list", "watch"}
	write = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// operatorRules are what the operator does itself and what it grants to the workloads of a control plane: Kubernetes lets
// nobody grant rights that he does not hold. It has neither "escalate" nor "bind".
func operatorRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("hypershift.openshift.io", all, "*"),
		rule("certificates.hypershift.openshift.io", all, "*"),
		rule("cluster.x-k8s.io", all, "*"),
		rule("addons.cluster.x-k8s.io", all, "*"),
		rule("infrastructure.cluster.x-k8s.io", all, "*"),
		rule("ipam.cluster.x-k8s.io", all, "*"),
		rule("apiextensions.k8s.io", all, "customresourcedefinitions", "customresourcedefinitions/status"),
		rule("", all, "events", "configmaps", "configmaps/finalizers", "persistentvolumeclaims", "pods", "pods/log", "secrets", "nodes",
			"namespaces", "namespaces/finalize", "serviceaccounts", "serviceaccounts/token", "services", "services/finalizers", "endpoints"),
		rule("", read, "persistentvolumes"),
		rule("apps", all, "deployments", "deployments/scale", "deployments/finalizers", "replicasets", "statefulsets", "statefulsets/scale"),
		rule("batch", all, "jobs", "cronjobs"),
		rule("events.k8s.io", all, "events"),
		rule("coordination.k8s.io", all, "leases"),
		rule("discovery.k8s.io", all, "endpointslices", "endpointslices/restricted"),
		rule("networking.k8s.io", all, "networkpolicies", "ingresses"),
		rule("policy", all, "poddisruptionbudgets"),
		rule("rbac.authorization.k8s.io", write, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
		rule("authentication.k8s.io", []string{"create"}, "tokenreviews"),
		rule("authorization.k8s.io", []string{"create"}, "subjectaccessreviews"),
		rule("storage.k8s.io", read, "storageclasses"),
		rule("config.openshift.io", read, "*"),
		rule("route.openshift.io", all, "*"),
		rule("security.openshift.io", all, "securitycontextconstraints"),
		rule("monitoring.coreos.com", all, "*"),
	}
}

// externalDNSRules are what the publisher of host names reads.
func externalDNSRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("route.openshift.io", read, "*"),
		rule("", read, "endpoints", "services", "nodes", "pods"),
		rule("discovery.k8s.io", read, "endpointslices"),
	}
}
