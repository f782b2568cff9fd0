package version

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// ClusterOperator `network` says that flannel enforces no NetworkPolicies as long as flannel is the network, and is healthy all the same.
func TestNetworkOperatorTellsOfPolicies(t *testing.T) {
	w := newWorld(t, 2)
	condition := func(kind configv1.ClusterStatusConditionType) *configv1.ClusterOperatorStatusCondition {
		t.Helper()
		w.pass()
		w.pass() // the second pass changes nothing
		if w.writes != 0 {
			t.Errorf("%d writes without a change", w.writes)
		}
		operator := &configv1.ClusterOperator{}
		w.must(w.r.guest.Get(t.Context(), client.ObjectKey{Name: "network"}, operator))
		return findClusterCondition(operator.Status.Conditions, kind)
	}
	w.allRun("4.21.0")
	if c := condition(policiesEnforced); c == nil || c.Status != configv1.ConditionFalse || c.Reason != policiesIgnored || c.Message != configuration.PolicyNoticeMessage {
		t.Errorf("condition %+v", c)
	}
	if c := condition(configv1.OperatorAvailable); c.Status != configv1.ConditionTrue || c.Message != configuration.PolicyNoticeMessage {
		t.Errorf("condition %+v", c)
	}
	w.operator("network", "4.21.0 True False False")
	w.pods(inside.FlannelName, 0)
	if c := condition(configv1.OperatorAvailable); c.Status != configv1.ConditionFalse || strings.Contains(c.Message, configuration.PolicyNoticeMessage) {
		t.Errorf("condition %+v", c)
	}
	delete(w.facts.Images, inside.FlannelName)
	if c := condition(policiesEnforced); c != nil {
		t.Errorf("without flannel: condition %+v", c)
	}
	if c := condition(configv1.OperatorAvailable); c.Status != configv1.ConditionTrue || c.Message != "" {
		t.Errorf("without flannel: condition %+v", c)
	}
}
