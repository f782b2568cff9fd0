package install

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

var (
	// all are the verbs of ordinary life; "*" would hold "impersonate" as well.
	all  = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	read = []string{"get", "list", "watch"}
	// apply is what server-side apply and deletion take.
	apply = []string{"get", "list", "watch", "create", "patch", "delete"}
	// write is for one object at a time.
	write = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	tell  = []string{"create", "patch"}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// operatorRules are what the operator grants to the workloads of a control plane, because Kubernetes lets nobody grant rights that
// he does not hold, and what it does itself. It has neither "escalate" nor "bind". TestOperatorHoldsNoMoreThanItNeeds of
// cmd/hypershift-operator lists each right that nothing uses.
func operatorRules() []rbacv1.PolicyRule { return append(commonRules(), openShiftRules()...) }

// commonRules are what control planes of any payload take.
func commonRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("hypershift.openshift.io", write, planeKinds()...),
		rule("hypershift.openshift.io", read, "*"),
		rule("hypershift.openshift.io", []string{"patch"}, "hostedclusters", "nodepools", "nodepools/status"),
		rule("hypershift.openshift.io", []string{"update"}, "hostedclusters/status"),
		rule("hypershift.openshift.io", []string{"delete"}, "nodepools"),
		rule("cluster.x-k8s.io", write, "*"),
		rule("addons.cluster.x-k8s.io", append([]string{"patch"}, read...), "*"),
		rule("infrastructure.cluster.x-k8s.io", append([]string{"patch"}, read...), "*"),
		rule("infrastructure.cluster.x-k8s.io", []string{"create", "delete"}, "azureclusters", "azuremachines", "azuremachinetemplates"),
		rule("infrastructure.cluster.x-k8s.io", []string{"create"}, "azureclusteridentities"),
		rule("ipam.cluster.x-k8s.io", append([]string{"patch"}, read...), "*"),
		rule("apiextensions.k8s.io", append([]string{"patch"}, read...), "customresourcedefinitions"),
		rule("apiextensions.k8s.io", []string{"patch"}, "customresourcedefinitions/status"),
		rule("", write, "configmaps", "secrets", "services", "namespaces"),
		rule("", apply, "serviceaccounts"),
		rule("", append([]string{"patch", "delete", "deletecollection"}, read...), "pods"),
		rule("", []string{"get", "list", "delete", "deletecollection"}, "persistentvolumeclaims"),
		rule("", read, "endpoints"),
		rule("", []string{"list"}, "nodes"),
		rule("", tell, "events"),
		rule("events.k8s.io", tell, "events"),
		rule("apps", append([]string{"deletecollection"}, write...), "deployments", "statefulsets"),
		rule("apps", []string{"deletecollection"}, "replicasets"),
		rule("batch", write, "jobs", "cronjobs"),
		rule("coordination.k8s.io", write, "leases"),
		rule("discovery.k8s.io", write, "endpointslices"),
		rule("networking.k8s.io", apply, "networkpolicies"),
		rule("monitoring.coreos.com", write, "podmonitors", "servicemonitors"),
		rule("policy", write, "poddisruptionbudgets"),
		rule("rbac.authorization.k8s.io", apply, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
		rule("route.openshift.io", write, "routes"),
		rule("route.openshift.io", []string{"create", "update"}, "routes/custom-host"),
		rule("route.openshift.io", []string{"patch"}, "routes/status"),
		rule("config.openshift.io", read, "imagedigestmirrorsets", "infrastructures", "ingresses", "networks", "proxies"),
		rule("operator.openshift.io", read, "imagecontentsourcepolicies"),
	}
}

// openShiftRules are what the operator holds besides for OpenShift's payloads, only to give it: their operators do anything with their own
// objects in the namespace of a control plane, and the operator of its certificates signs requests for emergencies.
func openShiftRules() []rbacv1.PolicyRule {
	drop := []string{"deletecollection"}
	return []rbacv1.PolicyRule{
		rule("", all, "configmaps/finalizers", "endpoints", "events"),
		rule("", drop, "configmaps", "secrets", "services"),
		rule("", []string{"update", "deletecollection"}, "serviceaccounts"),
		rule("", []string{"create", "update", "patch"}, "pods"),
		rule("apps", write, "replicasets"),
		rule("coordination.k8s.io", drop, "leases"),
		rule("policy", drop, "poddisruptionbudgets"),
		rule("rbac.authorization.k8s.io", []string{"update"}, "roles", "rolebindings"),
		rule("route.openshift.io", drop, "routes"),
		rule("route.openshift.io", all, "routes/custom-host"),
		rule("monitoring.coreos.com", all, "prometheusrules"),
		rule("monitoring.coreos.com", drop, "servicemonitors"),
		rule("monitoring.rhobs", all, "prometheusrules", "servicemonitors"),
		rule("hypershift.openshift.io", drop, "hostedcontrolplanes/status"),
		rule("certificates.hypershift.openshift.io", read, "certificatesigningrequestapprovals", "certificaterevocationrequests"),
		rule("certificates.hypershift.openshift.io", []string{"patch"}, "certificaterevocationrequests/status"),
		rule("certificates.k8s.io", read, "certificatesigningrequests"),
		rule("certificates.k8s.io", []string{"update"}, "certificatesigningrequests/approval"),
		rule("certificates.k8s.io", []string{"patch"}, "certificatesigningrequests/status"),
		rule("certificates.k8s.io", []string{"approve", "sign"}, "signers"),
	}
}

// planeKinds are what a control plane consists of: its operator works on them, and the operator of all grants that.
func planeKinds() []string {
	var kinds []string
	for _, kind := range contract.ControlPlaneKinds() {
		kinds = append(kinds, kind, kind+"/status", kind+"/finalizers")
	}
	return kinds
}

// externalDNSRules are what the publisher of host names reads.
func externalDNSRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("route.openshift.io", read, "routes"),
		rule("", read, "endpoints", "services", "nodes", "pods"),
		rule("discovery.k8s.io", read, "endpointslices"),
	}
}
