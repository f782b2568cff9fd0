package hostedcluster

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// TestTwelveUpgradesAtOnce: of twelve clusters that are told to upgrade at one moment three do at a time, the others say what they wait for,
// and all get there; also when the operator begins anew half-way.
func TestTwelveUpgradesAtOnce(t *testing.T) {
	const clusters, most = 12, 3
	first := newFixture(t, "turns-0")
	first.reconciler.MaxConcurrentUpgrades = most
	registry := releasetest.New(t)
	wanted := registry.PushPayload(t, "4.21.1", releasetest.Payload{Version: "4.21.1", Operator: first.operatorImage})
	var fleet []*fixture
	for i := range clusters {
		f := &fixture{name: fmt.Sprintf("turns-%d", i), namespace: fmt.Sprintf("clusters-turns-%d", i), client: first.client, reconciler: first.reconciler, image: first.image}
		f.request = ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "clusters", Name: f.name}}
		f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
		f.reconcile(t)
		f.runs(t, "4.21.0", f.image)
		fleet = append(fleet, f)
	}
	for _, f := range fleet {
		f.setRelease(t, wanted)
	}
	for round := 0; ; round++ {
		if round > clusters/most+1 { // one more for the operator that begins anew
			t.Fatalf("not all are upgraded after %d rounds", round)
		}
		var under []*fixture
		done := 0
		for _, f := range fleet {
			f.reconcile(t)
			hcp := f.controlPlane(t)
			switch {
			case hcp.Spec.ReleaseImage != wanted:
				f.saysItWaits(t, most)
			case hcp.Status.ControlPlaneVersion.History[0].Image == wanted:
				done++
			default:
				under = append(under, f)
			}
		}
		if len(under) > most {
			t.Errorf("round %d: %d are upgraded at once, at most %d may be", round, len(under), most)
		}
		if done == clusters {
			break
		}
		if len(under) != min(most, clusters-done) {
			t.Errorf("round %d: %d are upgraded, and %d wait although there is room", round, len(under), clusters-done-len(under))
		}
		if round == 1 {
			again := &Reconciler{Options: first.reconciler.Options, Client: first.reconciler.Client, Live: first.reconciler.Live, Events: first.reconciler.Events}
			for _, f := range fleet {
				f.reconciler = again
			}
			continue // what was under way still is
		}
		for _, f := range under {
			f.runs(t, "4.21.1", wanted)
		}
	}
}

// runs reports, as the control plane does, that it runs a version, and what it ran before.
func (f *fixture) runs(t *testing.T, version, image string) {
	t.Helper()
	hcp, now := f.controlPlane(t), metav1.Now()
	plane := &hyperv1.ControlPlaneVersionStatus{Desired: hyperv1.VersionRelease{Version: version, Image: image}}
	plane.History = []hyperv1.ControlPlaneUpdateHistory{{State: hyperv1.CompletedUpdate, StartedTime: now, CompletionTime: &now, Version: version, Image: image}}
	if former := hcp.Status.ControlPlaneVersion; former != nil {
		plane.History = append(plane.History, former.History...)
	}
	hcp.Status.ControlPlaneVersion = plane
	if err := f.client.Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	f.complete(t, version, image)
}

// saysItWaits looks for the reason where people look for it.
func (f *fixture) saysItWaits(t *testing.T, most int) {
	t.Helper()
	c := meta.FindStatusCondition(f.get(t).Status.Conditions, hyperv1.HostedClusterProgressing)
	want := fmt.Sprintf("at most %d at a time (install --max-concurrent-upgrades)", most)
	if c == nil || c.Reason != hyperv1.BlockedReason || !strings.Contains(c.Message, want) || !strings.Contains(c.Message, "clusters-turns-") {
		t.Errorf("%s waits, and says %+v", f.name, c)
	}
}
