package version

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// statusLimit is how many bytes a guest may put into the status of its control plane, at most.
const statusLimit = 3*listLimit + 8*(kube.MessageLimit+1024) + 4096

// hostile is the status of a ClusterVersion that somebody in the guest made as large as he could, and its definition laxer before.
func hostile() configv1.ClusterVersionStatus {
	long := strings.Repeat("ü", 2_000)
	release := func(i int) configv1.Release {
		out := configv1.Release{Version: fmt.Sprint(i, long), Image: long, URL: configv1.URL(long)}
		for j := range 10 {
			out.Channels = append(out.Channels, fmt.Sprint(long, j))
		}
		return out
	}
	status := configv1.ClusterVersionStatus{Desired: release(0)}
	for i := range 200 {
		started := metav1.NewTime(time.Unix(int64(1000-i), 0))
		if i == 7 {
			started = metav1.Time{}
		}
		status.History = append(status.History, configv1.UpdateHistory{State: configv1.UpdateState(long), StartedTime: started, Version: long, Image: long, AcceptedRisks: long})
		status.AvailableUpdates = append(status.AvailableUpdates, release(i))
		status.ConditionalUpdates = append(status.ConditionalUpdates, configv1.ConditionalUpdate{Release: release(i), Conditions: []metav1.Condition{{Type: long, Message: long}}})
	}
	for _, report := range reportedConditions {
		status.Conditions = append(status.Conditions, configv1.ClusterOperatorStatusCondition{Type: report.from, Status: "Maybe", Reason: "no reason " + long, Message: long})
	}
	return status
}

func TestHostileVersionIsBounded(t *testing.T) {
	out := &hyperv1.HostedControlPlaneStatus{}
	reportVersion(out, hostile(), 1)
	encoded, err := json.Marshal(out)
	if err != nil || len(encoded) > statusLimit {
		t.Errorf("%d bytes (%v), want %d at most", len(encoded), err, statusLimit)
	}
	v := out.VersionStatus
	if len(v.History) == 0 || len(v.AvailableUpdates) == 0 || len(v.ConditionalUpdates) == 0 || v.History[0].StartedTime.Unix() != 1000 || len(v.Desired.Channels) != 1 {
		t.Errorf("the newest are not kept: %d entries of history, %d and %d updates, channels %d", len(v.History), len(v.AvailableUpdates), len(v.ConditionalUpdates), len(v.Desired.Channels))
	}
	for _, c := range out.Conditions {
		if c.Status != metav1.ConditionUnknown || strings.Contains(c.Reason, " ") {
			t.Errorf("%s is %s, reason %.40q", c.Type, c.Status, c.Reason)
		}
	}
	again := out.DeepCopy()
	reportVersion(again, hostile(), 1)
	if second, _ := json.Marshal(again); string(second) != string(encoded) {
		t.Error("the same report a second time is another, and would be written")
	}
}

// FuzzClusterVersion: whatever a guest makes of its ClusterVersion, the report of it has bounds, and is the same a second time.
func FuzzClusterVersion(f *testing.F) {
	for _, status := range []configv1.ClusterVersionStatus{{}, {
		Desired: configv1.Release{Version: "4.21.0", Image: "quay.io/r:4.21.0", Channels: []string{"stable", "fast"}},
		History: []configv1.UpdateHistory{{State: configv1.CompletedUpdate, StartedTime: metav1.NewTime(time.Unix(1, 0)), Version: "4.21.0", Image: "x"}},
		Conditions: []configv1.ClusterOperatorStatusCondition{
			{Type: configv1.OperatorAvailable, Status: configv1.ConditionTrue, Reason: "AsExpected"}, {Type: conditionFailing, Status: "?", Message: "\u2028<>"},
		},
		ConditionalUpdates: []configv1.ConditionalUpdate{{Conditions: []metav1.Condition{{Type: "Recommended", Status: "x"}, {Type: "a b"}}}},
	}} {
		seed, err := json.Marshal(status)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Add([]byte(`{"history":[{"startedTime":null,"completionTime":"9999-12-31T23:59:59Z"}],"availableUpdates":[{"channels":["a","a",""]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		status := configv1.ClusterVersionStatus{}
		if json.Unmarshal(text, &status) != nil {
			return
		}
		out := &hyperv1.HostedControlPlaneStatus{}
		reportVersion(out, status, 1)
		first, err := json.Marshal(out)
		if err != nil || len(first) > statusLimit {
			t.Fatalf("%d bytes, %v", len(first), err)
		}
		for _, c := range out.Conditions {
			if bounded := kube.BoundCondition(c); bounded != c {
				t.Errorf("%+v is told of, which the schema does not take", c)
			}
		}
		reportVersion(out, status, 1)
		if second, _ := json.Marshal(out); string(second) != string(first) {
			t.Errorf("%s\nbecomes\n%s", first, second)
		}
	})
}
