package hostedcluster

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Grants are the rights that this operator gives to the workloads of a control plane; it has to hold them itself.
func Grants() []rbacv1.PolicyRule {
	granted := slices.Concat(clusterAPIRules(), capiProviderRules(), controlPlaneOperatorRules())
	for _, rules := range clusterScopedRules {
		granted = append(granted, rules...)
	}
	return granted
}
