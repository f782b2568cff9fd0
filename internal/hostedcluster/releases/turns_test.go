package releases

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

var turnsNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// planeAt runs a release, or with "" none yet, and is told to run another one since so long.
func planeAt(name, runs, wanted string, since time.Duration) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-" + name, Name: name, UID: types.UID(name)}}
	hcp.Spec.ReleaseImage = wanted
	began := metav1.NewTime(turnsNow.Add(-since))
	var history []hyperv1.ControlPlaneUpdateHistory
	if since > 0 {
		history = append(history, hyperv1.ControlPlaneUpdateHistory{State: hyperv1.PartialUpdate, Image: wanted, StartedTime: began})
	}
	if runs != "" {
		history = append(history, hyperv1.ControlPlaneUpdateHistory{State: hyperv1.CompletedUpdate, Image: runs})
	}
	hcp.Status.ControlPlaneVersion = &hyperv1.ControlPlaneVersionStatus{History: history}
	return hcp
}

// TestTurns: whatever changes no release of a control plane that runs one goes on at once; an upgrade counts from the moment when it is let
// go until it is complete, and for half an hour at most.
func TestTurns(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	take := func(turns *Turns, most int, own *hyperv1.HostedControlPlane, wanted string, now time.Time, others ...*hyperv1.HostedControlPlane) (string, error) {
		hc := &hyperv1.HostedCluster{}
		hc.Spec.Release.Image = wanted
		var objects []client.Object
		for _, o := range others {
			objects = append(objects, o)
		}
		c := cluster.New(hc, cluster.Environment{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), Now: func() time.Time { return now }})
		waits, err := turns.Take(t.Context(), c, own, most)
		var waiting *steps.Waiting
		if (waits != "") != errors.As(err, &waiting) || waiting != nil && waiting.After <= 0 {
			t.Errorf("it waits for %q, and the error is %v", waits, err)
		}
		return waits, err
	}
	me := planeAt("me", "old", "old", 0)
	for title, row := range map[string]struct {
		most  int
		own   *hyperv1.HostedControlPlane
		other []*hyperv1.HostedControlPlane
		waits string
	}{
		"no bound":               {0, me, []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", time.Minute)}, ""},
		"nobody else":            {1, me, nil, ""},
		"another one runs":       {1, me, []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", time.Minute)}, "clusters-a"},
		"another one was told":   {1, me, []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", 0)}, "clusters-a"},
		"below the bound":        {2, me, []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", time.Minute)}, ""},
		"at the bound":           {2, me, []*hyperv1.HostedControlPlane{planeAt("b", "old", "new", 1), planeAt("a", "old", "new", 1)}, "clusters-a, clusters-b"},
		"others are complete":    {1, me, []*hyperv1.HostedControlPlane{planeAt("a", "new", "new", 0)}, ""},
		"others are installed":   {1, me, []*hyperv1.HostedControlPlane{planeAt("a", "", "new", time.Minute)}, ""},
		"another one hangs":      {1, me, []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", time.Hour)}, ""},
		"its own upgrade runs":   {1, planeAt("me", "old", "new", 1), []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", 1)}, ""},
		"it is turned elsewhere": {1, planeAt("me", "old", "other", 1), []*hyperv1.HostedControlPlane{planeAt("me", "old", "other", 1), planeAt("a", "old", "new", 1)}, ""},
		"it is installed":        {1, planeAt("me", "", "old", 1), []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", 1)}, ""},
		"it is not there yet":    {1, nil, []*hyperv1.HostedControlPlane{planeAt("a", "old", "new", 1)}, ""},
	} {
		waits, err := take(&Turns{}, row.most, row.own, "new", turnsNow, row.other...)
		if (waits != "") != (row.waits != "") || !strings.Contains(waits, row.waits) {
			t.Errorf("%s: %q, %v", title, waits, err)
		}
	}

	// Two ask before either shows it; once one that was let go never began, its turn is free again.
	turns, a, b := &Turns{}, planeAt("a", "old", "old", 0), planeAt("b", "old", "old", 0)
	if waits, err := take(turns, 1, a, "new", turnsNow, a, b); err != nil || waits != "" {
		t.Fatalf("%q, %v", waits, err)
	}
	if waits, _ := take(turns, 1, b, "new", turnsNow, a, b); !strings.Contains(waits, "clusters-a") {
		t.Errorf("two were let go at once: %q", waits)
	}
	if waits, _ := take(turns, 1, a, "new", turnsNow, a, b); waits != "" {
		t.Errorf("who was let go waits for itself: %q", waits)
	}
	if waits, _ := take(turns, 1, b, "new", turnsNow.Add(time.Minute), a, b); waits != "" {
		t.Errorf("a turn that nobody took is kept: %q", waits)
	}
	var many []*hyperv1.HostedControlPlane
	for i := range 12 {
		many = append(many, planeAt(fmt.Sprintf("n%02d", i), "old", "new", 1))
	}
	if waits, _ := take(&Turns{}, 3, me, "new", turnsNow, many...); !strings.Contains(waits, "clusters-n04 and 7 more") || !strings.Contains(waits, "at most 3 at a time (install --max-concurrent-upgrades)") {
		t.Errorf("%q", waits)
	}
}
