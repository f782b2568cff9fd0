package guest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// warnings is what an API server said beside its answers.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { *w = append(*w, text) }

// warnsOfPolicies: who writes a NetworkPolicy that nothing enforces is told so, and may write it.
func (s *server) warnsOfPolicies() {
	s.t.Helper()
	said := &warnings{}
	config := rest.CopyConfig(s.config)
	config.WarningHandler = said
	writer, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	s.must(err)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny-all"}}
	// A policy for admission takes effect a moment after it is made.
	s.eventually(func() error {
		*said = nil
		again := policy.DeepCopy()
		err := errors.Join(writer.Create(s.t.Context(), again), writer.Delete(s.t.Context(), again))
		if err != nil || !strings.Contains(fmt.Sprint(*said), policyNoticeMessage) {
			return fmt.Errorf("a NetworkPolicy is written, and its author is told %q: %w", *said, errors.Join(err, errors.New("not warned")))
		}
		return nil
	})
	s.must(writer.Create(s.t.Context(), policy))
	*said = nil
	policy.Labels = map[string]string{"a": "b"}
	s.must(writer.Update(s.t.Context(), policy))
	if len(*said) != 0 {
		s.t.Errorf("a change of a label is answered with %q", *said)
	}
	s.must(writer.Delete(s.t.Context(), policy))
}

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
	if c := condition(policiesEnforced); c == nil || c.Status != configv1.ConditionFalse || c.Reason != policiesIgnored || c.Message != policyNoticeMessage {
		t.Errorf("condition %+v", c)
	}
	if c := condition(configv1.OperatorAvailable); c.Status != configv1.ConditionTrue || c.Message != policyNoticeMessage {
		t.Errorf("condition %+v", c)
	}
	w.operator("network", "4.21.0 True False False")
	w.pods(flannelName, 0)
	if c := condition(configv1.OperatorAvailable); c.Status != configv1.ConditionFalse || strings.Contains(c.Message, policyNoticeMessage) {
		t.Errorf("condition %+v", c)
	}
	delete(w.facts.Images, flannelName)
	if c := condition(policiesEnforced); c != nil {
		t.Errorf("without flannel: condition %+v", c)
	}
	if c := condition(configv1.OperatorAvailable); c.Status != configv1.ConditionTrue || c.Message != "" {
		t.Errorf("without flannel: condition %+v", c)
	}
}

// The guest's Network and the warning follow the payload: a network operator speaks for itself.
func TestNetworkTellsWhatRuns(t *testing.T) {
	for name, test := range map[string]struct {
		change func(map[string]string)
		want   any
	}{
		"flannel":                    {func(map[string]string) {}, flannelNetworkType},
		"no network":                 {func(m map[string]string) { delete(m, flannelName) }, nil},
		"OpenShift's network":        {func(m map[string]string) { delete(m, flannelName); m[networkOperatorImage] = "x" }, nil},
		"flannel beside OpenShift's": {func(m map[string]string) { m[networkOperatorImage] = "x" }, nil},
	} {
		facts := plainFacts()
		facts.HCP.Spec.Networking.NetworkType = "OVNKubernetes"
		test.change(facts.Images)
		var runs any
		notices := 0
		for _, obj := range Configuration(facts) {
			switch {
			case obj.GroupVersionKind() == networkKind:
				if asked := obj.Object["spec"].(map[string]any)["networkType"]; asked != "OVNKubernetes" {
					t.Errorf("%s: spec has %v", name, asked)
				}
				if status, ok := obj.Object["status"].(map[string]any); ok {
					runs = status["networkType"]
				}
			case slices.Contains([]string{policyNotice, policyNotice + "-binding"}, obj.GetName()):
				notices++
			}
		}
		if runs != test.want || (notices == 2) != (test.want != nil) || notices == 1 {
			t.Errorf("%s: status says %v, %d objects warn", name, runs, notices)
		}
	}
}
