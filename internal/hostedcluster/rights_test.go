package hostedcluster

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// TestManagersGetATokenAndRights: the three workloads that this operator makes are the ones with an account of their own.
func TestManagersGetATokenAndRights(t *testing.T) {
	f := newFixture(t, "tokens")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	f.playControlPlane(t)
	f.reconcile(t)
	for _, workload := range []string{contract.ClusterAPI, contract.ClusterAPIProvider, contract.ControlPlaneOperator} {
		spec := f.deployment(t, workload).Spec.Template.Spec
		if !*spec.AutomountServiceAccountToken || spec.ServiceAccountName != workload {
			t.Errorf("%s: account %s, token %t", workload, spec.ServiceAccountName, *spec.AutomountServiceAccountToken)
		}
		role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
		role.Namespace, role.Name, binding.Namespace, binding.Name = f.namespace, workload, f.namespace, workload
		f.read(t, role)
		f.read(t, binding)
		if len(binding.Subjects) != 1 || binding.Subjects[0].Name != workload || binding.Subjects[0].Namespace != f.namespace {
			t.Errorf("%s: its rights are bound to %v", workload, binding.Subjects)
		}
	}
}
