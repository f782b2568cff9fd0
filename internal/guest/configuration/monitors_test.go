package configuration

import (
	"strings"
	"testing"
)

// TestMonitors: the alerts of removed APIs leave out OpenShift's own controllers, and name the releases; both of pod security look at what the
// other does not.
func TestMonitors(t *testing.T) {
	expressions := map[string][]string{}
	for _, obj := range monitors(openShiftFacts()) {
		if obj.GetKind() != RuleKind.Kind {
			continue
		}
		groups, _ := obj.Object["spec"].(map[string]any)["groups"].([]any)
		for _, rule := range groups[0].(map[string]any)["rules"].([]any) {
			alert := rule.(map[string]any)
			expressions[alert["alert"].(string)] = append(expressions[alert["alert"].(string)], alert["expr"].(string))
		}
	}
	for name, cues := range map[string][][]string{
		"APIRemovedInNextReleaseInUse":    {{`removed_release=~"1\\.24"`, `system_client!="cluster-policy-controller"`, "[4h]"}},
		"APIRemovedInNextEUSReleaseInUse": {{`removed_release=~"1\\.24|1\\.25"`, `system_client!="kube-controller-manager"`}},
		"PodSecurityViolation":            {{`ocp_namespace=""`, "[1d]"}, {`ocp_namespace!=""`, "by (policy_level, ocp_namespace)"}},
	} {
		if len(expressions[name]) != len(cues) {
			t.Errorf("%s: %v", name, expressions[name])
			continue
		}
		for i, all := range cues {
			for _, cue := range all {
				if !strings.Contains(expressions[name][i], cue) {
					t.Errorf("%s has no %s: %s", name, cue, expressions[name][i])
				}
			}
		}
	}
}
