// Package rbac makes the rules of Roles and ClusterRoles.
package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Verbs that often stand together. None is "*", which would hold "impersonate" and "escalate" as well.
const (
	Read = "get,list,watch"
	// Apply is what server-side apply and deletion take.
	Apply = "get,list,watch,create,patch,delete"
	// Write is for one object at a time, All for many too.
	Write = "get,list,watch,create,update,patch,delete"
	All   = Write + ",deletecollection"
)

// Rule allows verbs, separated by commas, on resources of one group; the group "" is the core.
func Rule(group, verbs string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: strings.Split(verbs, ",")}
}

// Named narrows a rule to objects of these names.
func Named(rule rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	rule.ResourceNames = names
	return rule
}
