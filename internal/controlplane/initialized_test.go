package controlplane

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

type noRelease struct{}

func (noRelease) Lookup(context.Context, string, release.Access) (*release.Release, error) {
	return nil, errors.New("the registry is away")
}

// TestInitializedWhateverElseFails: a deletion cleans up in Azure once somebody may have got a token from the guest. So the control plane
// says that its API server served, in the pass that finds it, whatever else is broken then, and for good.
func TestInitializedWhateverElseFails(t *testing.T) {
	f := newFixture(t)
	f.hcp = inNamespace("initialized")
	f.begin()
	f.publishedPasses()
	if f.hcp.Status.Initialized {
		t.Fatal("initialized before its API server runs")
	}
	f.roll()
	ctx := context.Background()
	healthy := f.reconciler
	lost := func() error { return errors.New("away") }
	for what, breakIt := range map[string]func(r *Reconciler){
		"the guest refuses its first rights": func(r *Reconciler) { r.Guest = func([]byte) (client.Client, error) { return nil, lost() } },
		"the release cannot be read":         func(r *Reconciler) { r.Releases = noRelease{} },
		"the published endpoint is silent":   func(r *Reconciler) { r.Probe = func(context.Context, publish.Endpoint, []byte) error { return lost() } },
	} {
		f.hcp.Status.Initialized = false
		if err := f.client.Status().Update(ctx, f.hcp); err != nil {
			t.Fatal(err)
		}
		r := &Reconciler{Client: healthy.Client, Releases: healthy.Releases, Settings: healthy.Settings, IngressDomain: healthy.IngressDomain,
			Certificates: healthy.Certificates, Now: healthy.Now, Guest: healthy.Guest, Probe: healthy.Probe}
		breakIt(r)
		_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f.hcp)})
		f.get(f.hcp, f.hcp.Name)
		if !f.hcp.Status.Initialized {
			t.Errorf("%s: not initialized (the pass: %v)", what, err)
		}
		if err == nil && f.hcp.Status.Ready {
			t.Errorf("%s: ready, and no error: the case breaks nothing", what)
		}
	}

	// The API server goes away: that it served stays true.
	server := &appsv1.Deployment{}
	f.get(server, contract.APIServer)
	server.Status = appsv1.DeploymentStatus{ObservedGeneration: server.Generation,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse}}}
	if err := f.client.Status().Update(ctx, server); err != nil {
		t.Fatal(err)
	}
	f.pass()
	if !f.hcp.Status.Initialized || f.hcp.Status.Ready {
		t.Errorf("without its API server: initialized %t, ready %t", f.hcp.Status.Initialized, f.hcp.Status.Ready)
	}
}
