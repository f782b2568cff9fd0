package operators

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// certificates is the group of requests and approvals of access for emergencies.
const certificates = "certificates.hypershift.openshift.io"

// Account is that of the operator of one control plane, with a payload of the kind.
func Account(kind release.Kind) workloads.Account {
	rights := rules()
	if kind == release.KindOpenShift {
		rights = append(rights, openShiftRules()...)
	}
	return workloads.Account{
		Workload:      contract.ControlPlaneOperator,
		Rights:        rights,
		ClusterRights: []rbacv1.PolicyRule{workloads.Rule("config.openshift.io", workloads.ReadVerbs, "ingresses", "proxies", "infrastructures")},
	}
}

// rules: everything a control plane is made of, within its namespace. The operator may grant its components
// no more than this, so it includes what they need; and its image may come with the payload, so it includes what HyperShift's contract
// names, whether this project's own operator uses it or not (ContractRules).
func rules() []rbacv1.PolicyRule {
	return append(ContractRules(),
		workloads.Rule("events.k8s.io", []string{"create", "patch"}, "events"),
		workloads.Rule("", workloads.ApplyVerbs, "serviceaccounts"),
		workloads.Rule("", workloads.ReadVerbs, "endpoints"),
		workloads.Rule("", []string{"get", "list", "watch", "patch", "delete", "deletecollection"}, "pods"),
		// Of the Job that replaces a member of etcd.
		workloads.Rule("", []string{"get", "list", "delete"}, "persistentvolumeclaims"),
		workloads.Rule("apps", []string{"deletecollection"}, "replicasets"),
		workloads.Rule("route.openshift.io", []string{"create", "update"}, "routes/custom-host"),
		workloads.Rule("route.openshift.io", []string{"patch"}, "routes/status"),
		workloads.Rule("rbac.authorization.k8s.io", workloads.ApplyVerbs, "roles", "rolebindings"),
		workloads.Rule("infrastructure.cluster.x-k8s.io", workloads.ReadVerbs, "azuremachinetemplates"),
	)
}

// openShiftRules are what operators of OpenShift's payloads need beside the rest, in the same namespace: the network's and the storage's
// make half of their operands there, with accounts and rights.
func openShiftRules() []rbacv1.PolicyRule {
	every := append([]string{"deletecollection"}, workloads.WriteVerbs...)
	return []rbacv1.PolicyRule{
		workloads.Rule("", every, "configmaps", "configmaps/finalizers", "endpoints", "events", "pods", "secrets", "serviceaccounts", "services"),
		workloads.Rule("apps", every, "deployments", "replicasets", "statefulsets"),
		workloads.Rule("coordination.k8s.io", []string{"deletecollection"}, "leases"),
		workloads.Rule("policy", []string{"deletecollection"}, "poddisruptionbudgets"),
		workloads.Rule("rbac.authorization.k8s.io", []string{"update"}, "roles", "rolebindings"),
		workloads.Rule("hypershift.openshift.io", []string{"deletecollection"}, "hostedcontrolplanes/status"),
		workloads.Rule("route.openshift.io", every, "routes", "routes/custom-host"),
		workloads.Rule("monitoring.coreos.com", every, "servicemonitors", "prometheusrules"),
		workloads.Rule("monitoring.rhobs", every, "servicemonitors", "prometheusrules"),
		workloads.Rule(certificates, workloads.ReadVerbs, "certificatesigningrequestapprovals", "certificaterevocationrequests"),
		workloads.Rule(certificates, []string{"patch"}, "certificaterevocationrequests/status"),
	}
}

func withSubresources(kinds []string) []string {
	var all []string
	for _, kind := range kinds {
		all = append(all, kind, kind+"/status", kind+"/finalizers")
	}
	return all
}

// ContractRules are the kinds that a control-plane-operator of any release finds open to it.
func ContractRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		workloads.Rule("hypershift.openshift.io", workloads.WriteVerbs, withSubresources(contract.ControlPlaneKinds())...),
		workloads.Rule("hypershift.openshift.io", workloads.ReadVerbs, "*"),
		workloads.Rule("", workloads.WriteVerbs, "configmaps", "secrets", "services"),
		workloads.Rule("apps", workloads.WriteVerbs, "deployments", "statefulsets"),
		workloads.Rule("batch", workloads.WriteVerbs, "jobs", "cronjobs"),
		workloads.Rule("policy", workloads.WriteVerbs, "poddisruptionbudgets"),
		workloads.Rule("coordination.k8s.io", workloads.WriteVerbs, "leases"),
		workloads.Rule("discovery.k8s.io", workloads.WriteVerbs, "endpointslices"),
		workloads.Rule("monitoring.coreos.com", workloads.WriteVerbs, "podmonitors", "servicemonitors"),
		workloads.Rule("route.openshift.io", workloads.WriteVerbs, "routes"),
		workloads.Rule("cluster.x-k8s.io", workloads.WriteVerbs, "*"),
	}
}
