package hostedcluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// unpublished are rights of Cluster API's managers beyond those that their projects publish, and why.
var unpublished = map[string]map[string][]kubetest.Right{
	clusterAPIName: {
		"the hosted control plane is the Cluster's: it is looked at, gets an owner, and goes with the Cluster": kubetest.Rights("hypershift.openshift.io",
			"hostedcontrolplanes", "get", "list", "watch", "update", "patch", "delete"),
		"events as client-go writes them now": kubetest.Rights("events.k8s.io", "events", "create", "patch"),
	},
	capiProviderName: {
		"events as client-go writes them now": kubetest.Rights("events.k8s.io", "events", "create", "patch"),
	},
}

// published are the rights that the project of a manager publishes for it.
func published(t *testing.T, workload string) []kubetest.Right {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "rights", workload+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rights []kubetest.Right
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(document, role); err != nil {
			t.Fatalf("%s: %v", workload, err)
		}
		rights = append(rights, kubetest.Expand(role.Rules)...)
	}
	return rights
}

// TestManagersHoldNoMoreThanTheyNeed lists each right of Cluster API's managers that is neither published for them nor explained, and
// each exception that none of them holds.
func TestManagersHoldNoMoreThanTheyNeed(t *testing.T) {
	for workload, rules := range map[string][]rbacv1.PolicyRule{clusterAPIName: clusterAPIRules(), capiProviderName: capiProviderRules()} {
		held := kubetest.Expand(slices.Concat(rules, clusterScopedRules[workload]))
		needed := published(t, workload)
		if len(needed) < 30 {
			t.Errorf("%s: only %d published rights", workload, len(needed))
		}
		for why, more := range unpublished[workload] {
			needed = append(needed, more...)
			for _, right := range more {
				if !kubetest.Covers(held, right) {
					t.Errorf("%s: the right to %s is explained (%s) and not held", workload, right, why)
				}
			}
		}
		for _, right := range held {
			if !kubetest.Covers(needed, right) {
				t.Errorf("%s: nothing uses the right to %s", workload, right)
			}
			if right.Resource == "*" || right.Verb == "*" || right.Verb == "deletecollection" {
				t.Errorf("%s holds the right to %s", workload, right)
			}
		}
	}
}
