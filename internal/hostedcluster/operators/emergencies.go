package operators

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// Certificate signing requests have no namespace: what signs those of one hosted cluster is held to the names of its signers.
const (
	csrGroup = "certificates.k8s.io"
	csrKind  = "certificatesigningrequests"

	ownerNamespaceLabel = "hypershift.openshift.io/owner.namespace"
	ownerNameLabel      = "hypershift.openshift.io/owner.name"
)

// EmergencyAccess lets the control-plane-pki-operator of a control plane approve and sign requests for access in emergencies. Bindings come before
// their roles, as they are deleted. Labels say whose they are.
func EmergencyAccess(namespace, name string) []client.Object {
	signers := []string{contract.SignerPrefix + namespace + ".customer-break-glass", contract.SignerPrefix + namespace + ".sre-break-glass"}
	held := func(verb string) rbacv1.PolicyRule {
		return rbac.Named(rbac.Rule(csrGroup, verb, "signers"), signers...)
	}
	read := rbac.Rule(csrGroup, rbac.Read, csrKind)
	var objects []client.Object
	for _, role := range []struct {
		suffix string
		rules  []rbacv1.PolicyRule
	}{
		{"csr-approver", []rbacv1.PolicyRule{read, rbac.Rule(csrGroup, "update", csrKind+"/approval"), held("approve")}},
		{"csr-signer", []rbacv1.PolicyRule{read, rbac.Rule(csrGroup, "patch", csrKind+"/status"), held("sign")}},
	} {
		meta := metav1.ObjectMeta{Name: namespace + "-" + role.suffix, Labels: map[string]string{ownerNamespaceLabel: namespace, ownerNameLabel: name}}
		objects = append(objects,
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: contract.PKIOperator, Namespace: namespace}}},
			&rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.rules})
	}
	return objects
}

// EmergencyRights are what this operator has to hold to give EmergencyAccess to control planes of any name.
func EmergencyRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rbac.Rule(csrGroup, rbac.Read, csrKind),
		rbac.Rule(csrGroup, "update", csrKind+"/approval"),
		rbac.Rule(csrGroup, "patch", csrKind+"/status"),
		rbac.Rule(csrGroup, "approve,sign", "signers"),
	}
}
