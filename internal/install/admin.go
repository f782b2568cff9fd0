package install

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		clusterRole(clientName, []rbacv1.PolicyRule{rule("hypershift.openshift.io", all, "hostedclusters", "nodepools")}),
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
		rule("hypershift.openshift.io", read, "*"),
		rule("config.openshift.io", read, "*"),
		rule("apiextensions.k8s.io", read, "customresourcedefinitions"),
		rule("networking.k8s.io", read, "networkpolicies"),
		rule("cluster.x-k8s.io", read, "*"),
		rule("addons.cluster.x-k8s.io", read, "*"),
		rule("infrastructure.cluster.x-k8s.io", read, "*"),
		rule("ipam.cluster.x-k8s.io", read, "*"),
		rule("route.openshift.io", read, "*"),
		rule("rbac.authorization.k8s.io", read, "*"),
		rule("monitoring.coreos.com", read, "podmonitors", "servicemonitors"),
		rule("security.openshift.io", read, "securitycontextconstraints"),
		rule("", read, "events", "configmaps", "pods", "pods/log", "nodes", "namespaces", "serviceaccounts", "services"),
		rule("apps", read, "deployments", "statefulsets"),
	}
}
