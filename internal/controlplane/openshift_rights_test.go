package controlplane

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// anything is what an account does with objects that are its own.
var anything = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// once is anything, one object at a time.
var once = anything[:7]

func each(group string, verbs []string, resources ...string) []kubetest.Right {
	var out []kubetest.Right
	for _, resource := range resources {
		out = append(out, kubetest.Rights(group, resource, verbs...)...)
	}
	return out
}

// roleRights are the Roles of OpenShift's operators in the control-plane namespace, as their payloads' facts have them.
var roleRights = map[string][]kubetest.Right{
	"cluster-network-operator": slices.Concat(each("", anything, "events", "configmaps", "pods", "secrets", "services"),
		each("policy", anything, "poddisruptionbudgets"), each("apps", anything, "statefulsets", "deployments"),
		each("route.openshift.io", anything, "routes", "routes/custom-host"),
		each("monitoring.coreos.com", anything, "servicemonitors", "prometheusrules"), each("monitoring.rhobs", anything, "servicemonitors", "prometheusrules"),
		cached(groupHypershift, "hostedcontrolplanes"), each(groupHypershift, anything, "hostedcontrolplanes/status")),
	"cluster-storage-operator": slices.Concat(each("coordination.k8s.io", anything, "leases"), each("apps", anything, "deployments", "replicasets"),
		each("policy", anything, "poddisruptionbudgets"),
		each("", anything, "serviceaccounts", "services", "configmaps", "pods", "secrets", "events", "endpoints"),
		each("rbac.authorization.k8s.io", once, "roles", "rolebindings"), cached(groupHypershift, "hostedcontrolplanes")),
	"csi-snapshot-controller-operator-role": slices.Concat(each("coordination.k8s.io", once[:6], "leases"), each("apps", once, "deployments", "replicasets"),
		each("policy", once, "poddisruptionbudgets"), each("", once, "serviceaccounts", "services", "configmaps"),
		cached("", "pods"), watched("", "secrets"), each("", []string{"create", "patch", "update"}, "events"), cached(groupHypershift, "hostedcontrolplanes")),
	"cluster-node-tuning-operator": each("", anything, "configmaps", "configmaps/finalizers", "events"),
	"olm-collect-profiles":         slices.Concat(each("", []string{"get", "list", "create", "delete"}, "configmaps"), each("", []string{"get", "update"}, "secrets")),
	"control-plane-pki-operator": slices.Concat(each(groupHypershift, []string{"get"}, "hostedcontrolplanes"), each("", []string{"get", "create", "update"}, "configmaps", "secrets"),
		each("", []string{"list"}, "pods"), cached("certificates.hypershift.openshift.io", "certificatesigningrequestapprovals"),
		cached("certificates.hypershift.openshift.io", "certificaterevocationrequests"),
		each("certificates.hypershift.openshift.io", []string{"patch"}, "certificaterevocationrequests/status")),
	"endpoint-resolver":     cached("", "pods"),
	"featuregate-generator": each("", []string{"create", "patch"}, "configmaps"),
}

// TestOpenShiftRights: operators of OpenShift's payloads have the rights that are known of them, made by a control-plane-operator that holds
// those beside its own, and no others. That it may give them, the API server says.
func TestOpenShiftRights(t *testing.T) {
	f := newFixture(t)
	f.hcp = inNamespace("openshift-rights")
	f.hcp.Spec.Networking.NetworkType = hyperv1.OVNKubernetes
	f.hcp.Spec.Monitoring = forwarding
	f.withOpenShift()
	f.beginOpenShift()
	f.publishedPasses()
	given := f.checkRoles()
	for _, name := range []string{"olm-collect-profiles", "featuregate-generator"} {
		role := &rbacv1.Role{}
		f.get(role, name)
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.ResourceNames) == 1 }) {
			t.Errorf("%s writes more than its own object: %v", name, role.Rules)
		}
	}
	config := &rbacv1.Role{}
	f.get(config, contract.ConfigOperator)
	for _, rule := range access.ConfigOperatorRights(release.KindOpenShift) {
		if len(rule.ResourceNames) == 0 || !slices.ContainsFunc(config.Rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
			t.Errorf("the config operator has no right %v, or not to single objects: %v", rule, config.Rules)
		}
	}
	plain := kubetest.Expand(operators.Account(release.KindKubernetes).AllRights())
	for _, right := range kubetest.Expand(operators.Account(release.KindOpenShift).AllRights()) {
		if !kubetest.Covers(plain, right) && !kubetest.Covers(given, right) {
			t.Errorf("control-plane-operator: it gives nobody the right to %s", right)
		}
	}
	for key, w := range f.workloads() {
		if row := w.template.Spec; *row.AutomountServiceAccountToken && !f.bound(row.ServiceAccountName) {
			t.Errorf("%s has a token and no rights", key)
		}
	}
}

// checkRoles compares the Roles of OpenShift's operators with what is known of them, and returns what all of them may do.
func (f *fixture) checkRoles() []kubetest.Right {
	f.Helper()
	roles := &rbacv1.RoleList{}
	f.list(roles)
	var given []kubetest.Right
	for name, want := range roleRights {
		i := slices.IndexFunc(roles.Items, func(r rbacv1.Role) bool { return r.Name == name })
		if i < 0 {
			f.Errorf("there is no Role %s", name)
			continue
		}
		held := kubetest.Expand(roles.Items[i].Rules)
		f.compare(name, held, want)
		given = append(given, held...)
	}
	return given
}

// bound tells whether an account has a Role.
func (f *fixture) bound(account string) bool {
	f.Helper()
	bindings := &rbacv1.RoleBindingList{}
	f.list(bindings)
	return slices.ContainsFunc(bindings.Items, func(b rbacv1.RoleBinding) bool {
		return slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Name == account && s.Namespace == f.hcp.Namespace })
	})
}
