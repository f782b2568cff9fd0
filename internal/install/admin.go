package install

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	clientName  = "hypershift-client"
	readersName = "hypershift-readers"
)

// adminAccess is for people: a group that may make and delete hosted clusters, and one that may look.
func (o *Options) adminAccess() []client.Object {
	if !o.AdminRBAC {
		return nil
	}
	group := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
	}
	return []client.Object{
		clusterRole(clientName, []rbacv1.PolicyRule{rbac.Rule("hypershift.openshift.io", rbac.All, "hostedclusters", "nodepools")}),
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: clientName},
		},
		clusterRoleBinding(clientName, append(o.subjects(clientName), group(clientName))...),
		clusterRole(readersName, readerRules()),
		clusterRoleBinding(readersName, group(readersName)),
	}
}

// readerRules see everything of a hosted cluster on the management side but its secrets.
func readerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rbac.Rule("hypershift.openshift.io", rbac.Read, "*"),
		rbac.Rule("config.openshift.io", rbac.Read, "*"),
		rbac.Rule("apiextensions.k8s.io", rbac.Read, "customresourcedefinitions"),
		rbac.Rule("networking.k8s.io", rbac.Read, "networkpolicies"),
		rbac.Rule("cluster.x-k8s.io", rbac.Read, "*"),
		rbac.Rule("addons.cluster.x-k8s.io", rbac.Read, "*"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", rbac.Read, "*"),
		rbac.Rule("ipam.cluster.x-k8s.io", rbac.Read, "*"),
		rbac.Rule("route.openshift.io", rbac.Read, "*"),
		rbac.Rule("rbac.authorization.k8s.io", rbac.Read, "*"),
		rbac.Rule("monitoring.coreos.com", rbac.Read, "podmonitors", "servicemonitors"),
		rbac.Rule("security.openshift.io", rbac.Read, "securitycontextconstraints"),
		rbac.Rule("", rbac.Read, "events", "configmaps", "pods", "pods/log", "nodes", "namespaces", "serviceaccounts", "services"),
		rbac.Rule("apps", rbac.Read, "deployments", "statefulsets"),
	}
}
