package install

import rbacv1 "k8s.io/api/rbac/v1"

var (
	// all are the verbs of ordinary life; "*" would hold "impersonate" as well.
	all  = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	read = []string{"get", "list", "watch"}
	// write is what server-side apply and deletion take.
	write = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	tell  = []string{"create", "get", "list", "patch", "update", "watch"}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// operatorRules are what the operator grants to the workloads of a control plane, because Kubernetes lets nobody grant rights that
// he does not hold, and what it does itself. It has neither "escalate" nor "bind". TestOperatorHoldsNoMoreThanItNeeds of
// cmd/hypershift-operator lists each right that nothing uses.
func operatorRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("hypershift.openshift.io", all, "*"),
		rule("cluster.x-k8s.io", all, "*"),
		rule("addons.cluster.x-k8s.io", all, "*"),
		rule("infrastructure.cluster.x-k8s.io", all, "*"),
		rule("ipam.cluster.x-k8s.io", append([]string{"patch"}, read...), "*"),
		rule("apiextensions.k8s.io", append([]string{"patch"}, read...), "customresourcedefinitions"),
		rule("apiextensions.k8s.io", []string{"patch"}, "customresourcedefinitions/status"),
		rule("", all, "configmaps", "secrets", "services", "serviceaccounts", "persistentvolumeclaims", "pods", "pods/log", "endpoints"),
		rule("", write, "namespaces"),
		rule("", []string{"list"}, "nodes"),
		rule("", tell, "events"),
		rule("events.k8s.io", tell, "events"),
		rule("apps", all, "deployments", "deployments/scale", "replicasets", "statefulsets"),
		rule("batch", all, "jobs", "cronjobs"),
		rule("coordination.k8s.io", all, "leases"),
		rule("discovery.k8s.io", all, "endpointslices"),
		rule("networking.k8s.io", all, "networkpolicies"),
		rule("monitoring.coreos.com", all, "podmonitors", "servicemonitors"),
		rule("policy", all, "poddisruptionbudgets"),
		rule("rbac.authorization.k8s.io", write, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
		rule("route.openshift.io", all, "routes", "routes/custom-host", "routes/status"),
		rule("config.openshift.io", read, "imagedigestmirrorsets", "infrastructures", "ingresses", "networks", "proxies"),
		rule("operator.openshift.io", read, "imagecontentsourcepolicies"),
	}
}

// externalDNSRules are what the publisher of host names reads.
func externalDNSRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("route.openshift.io", read, "routes"),
		rule("", read, "endpoints", "services", "nodes", "pods"),
		rule("discovery.k8s.io", read, "endpointslices"),
	}
}
