package hostedcluster

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// accounts are those of the workloads that this operator runs in a control-plane namespace, for every kind of payload that can run.
func accounts() []workloads.Account {
	all := machines.Accounts()
	for _, kind := range release.RunnableKinds() {
		all = append(all, operators.Account(kind))
	}
	return all
}

// Grants are the rights that this operator gives to the workloads of a control plane; it has to hold them itself.
func Grants() []rbacv1.PolicyRule {
	var granted []rbacv1.PolicyRule
	for _, account := range accounts() {
		granted = append(granted, account.AllRights()...)
	}
	return granted
}
