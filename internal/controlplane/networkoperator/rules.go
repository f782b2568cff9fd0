package networkoperator

import (
	rbacv1 "k8s.io/api/rbac/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const hypershift = "hypershift.openshift.io"

// rules of the operator in the control-plane namespace: with a network of its own it makes the whole of it there.
func rules(hcp *hyperv1.HostedControlPlane) []rbacv1.PolicyRule {
	planes := []rbacv1.PolicyRule{component.Rule(hypershift, "get,list,watch", "hostedcontrolplanes"),
		component.Rule(hypershift, component.AllVerbs, "hostedcontrolplanes/status")}
	if brings(hcp) {
		return append(planes,
			component.Rule("", component.AllVerbs, "events", "configmaps", "pods", "secrets", "services"),
			component.Rule("policy", component.AllVerbs, "poddisruptionbudgets"),
			component.Rule("apps", component.AllVerbs, "statefulsets", "deployments"),
			component.Rule("route.openshift.io", component.AllVerbs, "routes", "routes/custom-host"),
			component.Rule("monitoring.coreos.com", component.AllVerbs, "servicemonitors", "prometheusrules"),
			component.Rule("monitoring.rhobs", component.AllVerbs, "servicemonitors", "prometheusrules"))
	}
	named := func(rule rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
		rule.ResourceNames = names
		return rule
	}
	return append(planes,
		named(component.Rule("", "get,list,watch", "configmaps"), "openshift-service-ca.crt", component.RootCAConfigMap),
		named(component.Rule("", "get,list,watch,create,update,patch", "configmaps"), "ovnkube-identity-cm"),
		component.Rule("apps", "list,watch", "statefulsets", "deployments"),
		named(component.Rule("apps", component.AllVerbs, "deployments"), multusImage, "network-node-identity"),
		named(component.Rule("", component.AllVerbs, "services"), multusImage, "network-node-identity"))
}
