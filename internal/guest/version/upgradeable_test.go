package version

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// TestUpgradeable sees that the ClusterVersion's condition follows from what the operators say.
func TestUpgradeable(t *testing.T) {
	for _, row := range []struct {
		name            string
		kind            configv1.ClusterStatusConditionType
		status          configv1.ConditionStatus
		want            configv1.ConditionStatus
		reason, message string
	}{
		{"healthy", configv1.OperatorDegraded, configv1.ConditionFalse, configv1.ConditionTrue, "AsExpected", ""},
		{"degraded", configv1.OperatorDegraded, configv1.ConditionTrue, configv1.ConditionFalse, "ClusterOperatorDegraded", "cluster operator dns is degraded"},
		{"not upgradeable", configv1.OperatorUpgradeable, configv1.ConditionFalse, configv1.ConditionFalse, "ClusterOperatorNotUpgradeable",
			"cluster operator dns is not upgradeable: not now"},
	} {
		t.Run(row.name, func(t *testing.T) {
			operator := configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "dns"}}
			operator.Status.Conditions = []configv1.ClusterOperatorStatusCondition{{Type: row.kind, Status: row.status, Message: "not now"}}
			r := rollout{desired: configv1.Release{Version: "4.22.0", Image: "i"}, operators: []configv1.ClusterOperator{operator}, now: time.Now()}
			status := r.version(configv1.ClusterVersionStatus{}, nil, 1)
			c := findClusterCondition(status.Conditions, configv1.OperatorUpgradeable)
			if c == nil || c.Status != row.want || c.Reason != row.reason || c.Message != row.message {
				t.Fatalf("Upgradeable is %+v, want %s %s %q", c, row.want, row.reason, row.message)
			}
		})
	}
}

// TestOldKubeletsStandAgainstAnUpgrade: what Kubernetes' skew policy would forbid after the next minor version is said before it, and only then.
func TestOldKubeletsStandAgainstAnUpgrade(t *testing.T) {
	node := func(name, version string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: version}}}
	}
	for _, row := range []struct {
		name  string
		nodes []corev1.Node
		want  string
	}{
		{"no nodes", nil, ""},
		{"two behind", []corev1.Node{node("a", "v1.32.9"), node("b", "v1.34.2")}, ""},
		{"three behind", []corev1.Node{node("b", "v1.34.2"), node("a", "v1.31.0+rc")}, "upgrade the node pools of a (v1.31.0+rc) first"},
		{"not a version", []corev1.Node{node("a", "")}, ""},
		{"many", []corev1.Node{node("g", "v1.31.0"), node("f", "v1.31.0"), node("e", "v1.31.0"), node("d", "v1.31.0"), node("c", "v1.31.0"), node("b", "v1.31.0"), node("a", "v1.31.0")},
			"a (v1.31.0), b (v1.31.0), c (v1.31.0), d (v1.31.0), e (v1.31.0) and 2 more first"},
	} {
		t.Run(row.name, func(t *testing.T) {
			state := operatorState{name: "kube-apiserver", version: "4.21.0", notes: kubeletNotes(&inside.Facts{KubernetesVersion: "1.34.2"}, row.nodes),
				parts: []part{{name: "kube-apiserver", available: configv1.ConditionTrue, current: true}}}
			status := state.status(configv1.ClusterOperatorStatus{}, time.Now())
			upgradeable, available := findClusterCondition(status.Conditions, configv1.OperatorUpgradeable), findClusterCondition(status.Conditions, configv1.OperatorAvailable)
			if want := row.want == ""; (upgradeable.Status == configv1.ConditionTrue) != want || !strings.Contains(upgradeable.Message, row.want) {
				t.Errorf("Upgradeable is %s: %s", upgradeable.Status, upgradeable.Message)
			}
			if available.Status != configv1.ConditionTrue || available.Message != "" {
				t.Errorf("Available is %s: %s", available.Status, available.Message)
			}
		})
	}
}
