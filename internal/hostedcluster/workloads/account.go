// Package workloads is what the programs that this operator runs in a control-plane namespace have in common: their accounts, and the
// defaults of their Deployments.
package workloads

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Account is a workload's service account, which is named as the workload is.
type Account struct {
	Workload string
	// Rights within the control-plane namespace.
	Rights []rbacv1.PolicyRule
	// ClusterRights are those outside of it.
	ClusterRights []rbacv1.PolicyRule
}

// AllRights are those in the namespace and those outside of it.
func (a Account) AllRights() []rbacv1.PolicyRule { return slices.Concat(a.Rights, a.ClusterRights) }

// Objects are service account, Role, ClusterRole and their bindings.
func (a Account) Objects(namespace string) []client.Object {
	local := metav1.ObjectMeta{Name: a.Workload, Namespace: namespace}
	global := a.clusterName(namespace)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: a.Workload, Namespace: namespace}}
	refTo := func(kind, name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: local, ImagePullSecrets: []corev1.LocalObjectReference{{Name: contract.PullSecret}}},
		&rbacv1.Role{ObjectMeta: local, Rules: a.Rights},
		&rbacv1.RoleBinding{ObjectMeta: local, RoleRef: refTo("Role", a.Workload), Subjects: subjects},
		&rbacv1.ClusterRole{ObjectMeta: global, Rules: a.ClusterRights},
		&rbacv1.ClusterRoleBinding{ObjectMeta: global, RoleRef: refTo("ClusterRole", global.Name), Subjects: subjects},
	}
}

// ClusterObjects are those of the objects that do not end with the namespace, in the order of their deletion and without content.
func (a Account) ClusterObjects(namespace string) []client.Object {
	name := a.clusterName(namespace)
	return []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: name}, &rbacv1.ClusterRole{ObjectMeta: name}}
}

func (a Account) clusterName(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: namespace + "-" + a.Workload}
}
