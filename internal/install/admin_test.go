package install

import (
	"slices"
	"testing"
)

// TestReadersOnlyLook: who may look gets no verb that makes use of what is there, such as SecurityContextConstraints, and no Secrets.
func TestReadersOnlyLook(t *testing.T) {
	for _, rule := range readerRules() {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("readers may %s %v of %v", verb, rule.Resources, rule.APIGroups)
			}
		}
		if slices.Contains(rule.APIGroups, "") && (slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "*")) {
			t.Errorf("readers read Secrets: %v", rule)
		}
	}
}
