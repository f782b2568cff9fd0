package workloads

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// TestClusterObjects: what Objects makes outside of the namespace is what ClusterObjects deletes.
func TestClusterObjects(t *testing.T) {
	account := Account{Workload: "manager", Rights: []rbacv1.PolicyRule{rbac.Rule("", rbac.Read, "secrets")}, ClusterRights: []rbacv1.PolicyRule{rbac.Rule("", rbac.Read, "nodes")}}
	if got := len(account.AllRights()); got != 2 {
		t.Errorf("%d rights", got)
	}
	outside := map[string]bool{}
	for _, obj := range account.Objects("plane") {
		if obj.GetNamespace() == "" {
			outside[fmt.Sprintf("%T %s", obj, obj.GetName())] = true
		}
	}
	ended := account.ClusterObjects("plane")
	for _, obj := range ended {
		if key := fmt.Sprintf("%T %s", obj, obj.GetName()); !outside[key] {
			t.Errorf("%s is deleted and never made", key)
		}
	}
	if len(ended) != len(outside) || len(ended) != 2 {
		t.Errorf("%d objects are made outside of the namespace, %d deleted", len(outside), len(ended))
	}
}
