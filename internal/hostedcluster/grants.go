package hostedcluster

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// accounts are those of the workloads that this operator runs in a control-plane namespace, for every kind of payload that can run.
func accounts() []workloads.Account {
	var all []workloads.Account
	for _, kind := range release.RunnableKinds() {
		all = append(append(all, machines.Accounts(kind)...), operators.Account(kind))
	}
	return all
}

// Grants are the rights that this operator gives to the workloads of a control plane; it has to hold them itself.
func Grants() []rbacv1.PolicyRule {
	var granted []rbacv1.PolicyRule
	for _, account := range accounts() {
		granted = append(granted, account.AllRights()...)
	}
	return append(granted, operators.EmergencyRights()...)
}

// outside is what of a control plane does not end with its namespace, besides the accounts' rights.
func outside(c *cluster.Cluster) []client.Object {
	return operators.EmergencyAccess(c.Namespace, c.Hosted.Name)
}
