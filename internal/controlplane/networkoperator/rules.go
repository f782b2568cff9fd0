package networkoperator

import (
	rbacv1 "k8s.io/api/rbac/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const hypershift = "hypershift.openshift.io"

// rules of the operator in the control-plane namespace: with a network of its own it makes the whole of it there.
func rules(hcp *hyperv1.HostedControlPlane) []rbacv1.PolicyRule {
	planes := []rbacv1.PolicyRule{rbac.Rule(hypershift, rbac.Read, "hostedcontrolplanes"),
		rbac.Rule(hypershift, rbac.All, "hostedcontrolplanes/status")}
	if brings(hcp) {
		return append(planes,
			rbac.Rule("", rbac.All, "events", "configmaps", "pods", "secrets", "services"),
			rbac.Rule("policy", rbac.All, "poddisruptionbudgets"),
			rbac.Rule("apps", rbac.All, "statefulsets", "deployments"),
			rbac.Rule("route.openshift.io", rbac.All, "routes", "routes/custom-host"),
			rbac.Rule("monitoring.coreos.com", rbac.All, "servicemonitors", "prometheusrules"),
			rbac.Rule("monitoring.rhobs", rbac.All, "servicemonitors", "prometheusrules"))
	}
	return append(planes,
		rbac.Named(rbac.Rule("", rbac.Read, "configmaps"), contract.ServiceCA, contract.RootCA),
		rbac.Named(rbac.Rule("", "get,list,watch,create,update,patch", "configmaps"), "ovnkube-identity-cm"),
		rbac.Rule("apps", "list,watch", "statefulsets", "deployments"),
		rbac.Named(rbac.Rule("apps", rbac.All, "deployments"), multusImage, contract.NetworkNodeIdentity),
		rbac.Named(rbac.Rule("", rbac.All, "services"), multusImage, contract.NetworkNodeIdentity))
}
