package install

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// operatorRules are what the operator grants to the workloads of a control plane, because Kubernetes lets nobody grant rights that
// he does not hold, and what it does itself. It has neither "escalate" nor "bind". TestOperatorHoldsNoMoreThanItNeeds of
// cmd/hypershift-operator lists each right that nothing uses.
func operatorRules() []rbacv1.PolicyRule { return append(commonRules(), openShiftRules()...) }

// commonRules are what control planes of any payload take.
func commonRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rbac.Rule("hypershift.openshift.io", rbac.Write, planeKinds()...),
		rbac.Rule("hypershift.openshift.io", rbac.Read, "*"),
		rbac.Rule("hypershift.openshift.io", "patch", "hostedclusters", "nodepools", "nodepools/status"),
		rbac.Rule("hypershift.openshift.io", "update", "hostedclusters/status"),
		rbac.Rule("hypershift.openshift.io", "delete", "nodepools"),
		rbac.Rule("cluster.x-k8s.io", rbac.Write, "*"),
		rbac.Rule("addons.cluster.x-k8s.io", "patch,"+rbac.Read, "*"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "patch,"+rbac.Read, "*"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "create,delete", "azureclusters", "azuremachines", "azuremachinetemplates"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", "create", "azureclusteridentities"),
		rbac.Rule("ipam.cluster.x-k8s.io", "patch,"+rbac.Read, "*"),
		rbac.Rule("apiextensions.k8s.io", "patch,"+rbac.Read, "customresourcedefinitions"),
		rbac.Rule("apiextensions.k8s.io", "patch", "customresourcedefinitions/status"),
		rbac.Rule("", rbac.Write, "configmaps", "secrets", "services", "namespaces"),
		rbac.Rule("", rbac.Apply, "serviceaccounts"),
		rbac.Rule("", "patch,delete,deletecollection,"+rbac.Read, "pods"),
		rbac.Rule("", "get,list,delete,deletecollection", "persistentvolumeclaims"),
		rbac.Rule("", rbac.Read, "endpoints"),
		rbac.Rule("", "list", "nodes"),
		rbac.Rule("", "create,patch", "events"),
		rbac.Rule("events.k8s.io", "create,patch", "events"),
		rbac.Rule("apps", "deletecollection,"+rbac.Write, "deployments", "statefulsets"),
		rbac.Rule("apps", "deletecollection", "replicasets"),
		rbac.Rule("batch", rbac.Write, "jobs", "cronjobs"),
		rbac.Rule("coordination.k8s.io", rbac.Write, "leases"),
		rbac.Rule("discovery.k8s.io", rbac.Write, "endpointslices"),
		rbac.Rule("networking.k8s.io", rbac.Apply, "networkpolicies"),
		rbac.Rule("monitoring.coreos.com", rbac.Write, "podmonitors", "servicemonitors"),
		rbac.Rule("policy", rbac.Write, "poddisruptionbudgets"),
		rbac.Rule("rbac.authorization.k8s.io", rbac.Apply, "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
		rbac.Rule("route.openshift.io", rbac.Write, "routes"),
		rbac.Rule("route.openshift.io", "create,update", "routes/custom-host"),
		rbac.Rule("route.openshift.io", "patch", "routes/status"),
		rbac.Rule("config.openshift.io", rbac.Read, "imagedigestmirrorsets", "infrastructures", "ingresses", "networks", "proxies"),
		rbac.Rule("operator.openshift.io", rbac.Read, "imagecontentsourcepolicies"),
	}
}

// openShiftRules are what the operator holds besides for OpenShift's payloads, only to give it: their operators do anything with their own
// objects in the namespace of a control plane, and the operator of its certificates signs requests for emergencies.
func openShiftRules() []rbacv1.PolicyRule {
	const drop = "deletecollection"
	return []rbacv1.PolicyRule{
		rbac.Rule("", rbac.All, "configmaps/finalizers", "endpoints", "events"),
		rbac.Rule("", drop, "configmaps", "secrets", "services"),
		rbac.Rule("", "update,deletecollection", "serviceaccounts"),
		rbac.Rule("", "create,update,patch", "pods"),
		rbac.Rule("apps", rbac.Write, "replicasets"),
		rbac.Rule("coordination.k8s.io", drop, "leases"),
		rbac.Rule("policy", drop, "poddisruptionbudgets"),
		rbac.Rule("rbac.authorization.k8s.io", "update", "roles", "rolebindings"),
		rbac.Rule("route.openshift.io", drop, "routes"),
		rbac.Rule("route.openshift.io", rbac.All, "routes/custom-host"),
		rbac.Rule("monitoring.coreos.com", rbac.All, "prometheusrules"),
		rbac.Rule("monitoring.coreos.com", drop, "servicemonitors"),
		rbac.Rule("monitoring.rhobs", rbac.All, "prometheusrules", "servicemonitors"),
		rbac.Rule("hypershift.openshift.io", drop, "hostedcontrolplanes/status"),
		rbac.Rule("certificates.hypershift.openshift.io", rbac.Read, "certificatesigningrequestapprovals", "certificaterevocationrequests"),
		rbac.Rule("certificates.hypershift.openshift.io", "patch", "certificaterevocationrequests/status"),
		rbac.Rule("certificates.k8s.io", rbac.Read, "certificatesigningrequests"),
		rbac.Rule("certificates.k8s.io", "update", "certificatesigningrequests/approval"),
		rbac.Rule("certificates.k8s.io", "patch", "certificatesigningrequests/status"),
		rbac.Rule("certificates.k8s.io", "approve,sign", "signers"),
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
		rbac.Rule("route.openshift.io", rbac.Read, "routes"),
		rbac.Rule("", rbac.Read, "endpoints", "services", "nodes", "pods"),
		rbac.Rule("discovery.k8s.io", rbac.Read, "endpointslices"),
	}
}
