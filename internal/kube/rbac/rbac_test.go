package rbac

import (
	"reflect"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestNamedRule(t *testing.T) {
	want := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "daemonsets"}, Verbs: []string{"get", "list", "watch", "update"}, ResourceNames: []string{"a"}}
	if got := Named(Rule("apps", Read+",update", "deployments", "daemonsets"), "a"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
