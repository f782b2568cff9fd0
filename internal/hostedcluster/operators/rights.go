package operators

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
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
		ClusterRights: []rbacv1.PolicyRule{rbac.Rule("config.openshift.io", rbac.Read, "ingresses", "proxies", "infrastructures")},
	}
}

// rules: everything a control plane is made of, within its namespace. The operator may grant its components
// no more than this, so it includes what they need; and its image may come with the payload, so it includes what HyperShift's contract
// names, whether this project's own operator uses it or not (ContractRules).
func rules() []rbacv1.PolicyRule {
	return append(ContractRules(),
		rbac.Rule("events.k8s.io", "create,patch", "events"),
		rbac.Rule("", rbac.Apply, "serviceaccounts"),
		rbac.Rule("", rbac.Read, "endpoints"),
		rbac.Rule("", "get,list,watch,patch,delete,deletecollection", "pods"),
		// Of the Job that replaces a member of etcd.
		rbac.Rule("", "get,list,delete", "persistentvolumeclaims"),
		rbac.Rule("apps", "deletecollection", "replicasets"),
		rbac.Rule("route.openshift.io", "create,update", "routes/custom-host"),
		rbac.Rule("route.openshift.io", "patch", "routes/status"),
		rbac.Rule("rbac.authorization.k8s.io", rbac.Apply, "roles", "rolebindings"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", rbac.Read, "azuremachinetemplates"),
	)
}

// openShiftRules are what operators of OpenShift's payloads need beside the rest, in the same namespace: the network's and the storage's
// make half of their operands there, with accounts and rights.
func openShiftRules() []rbacv1.PolicyRule {
	const every = "deletecollection," + rbac.Write
	return []rbacv1.PolicyRule{
		rbac.Rule("", every, "configmaps", "configmaps/finalizers", "endpoints", "events", "pods", "secrets", "serviceaccounts", "services"),
		rbac.Rule("apps", every, "deployments", "replicasets", "statefulsets"),
		rbac.Rule("coordination.k8s.io", "deletecollection", "leases"),
		rbac.Rule("policy", "deletecollection", "poddisruptionbudgets"),
		rbac.Rule("rbac.authorization.k8s.io", "update", "roles", "rolebindings"),
		rbac.Rule("hypershift.openshift.io", "deletecollection", "hostedcontrolplanes/status"),
		rbac.Rule("route.openshift.io", every, "routes", "routes/custom-host"),
		rbac.Rule("monitoring.coreos.com", every, "servicemonitors", "prometheusrules"),
		rbac.Rule("monitoring.rhobs", every, "servicemonitors", "prometheusrules"),
		rbac.Rule(certificates, rbac.Read, "certificatesigningrequestapprovals", "certificaterevocationrequests"),
		rbac.Rule(certificates, "patch", "certificaterevocationrequests/status"),
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
		rbac.Rule("hypershift.openshift.io", rbac.Write, withSubresources(contract.ControlPlaneKinds())...),
		rbac.Rule("hypershift.openshift.io", rbac.Read, "*"),
		rbac.Rule("", rbac.Write, "configmaps", "secrets", "services"),
		rbac.Rule("apps", rbac.Write, "deployments", "statefulsets"),
		rbac.Rule("batch", rbac.Write, "jobs", "cronjobs"),
		rbac.Rule("policy", rbac.Write, "poddisruptionbudgets"),
		rbac.Rule("coordination.k8s.io", rbac.Write, "leases"),
		rbac.Rule("discovery.k8s.io", rbac.Write, "endpointslices"),
		rbac.Rule("monitoring.coreos.com", rbac.Write, "podmonitors", "servicemonitors"),
		rbac.Rule("route.openshift.io", rbac.Write, "routes"),
		rbac.Rule("cluster.x-k8s.io", rbac.Write, "*"),
	}
}
