package controlplane

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// A control plane with a release of its own does not change what the hosted cluster is said to run.
func TestTwoReleases(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{Spec: hyperv1.HostedControlPlaneSpec{ReleaseImage: "data", ControlPlaneReleaseImage: ptr.To("own")}}
	p := &pass{
		Reconciler: &Reconciler{Now: time.Now}, hcp: hcp,
		release: &release.Release{Version: "4.21.1"}, guest: &release.Release{Version: "4.21.0"},
	}
	p.setVersions()
	data, own := hcp.Status.VersionStatus, hcp.Status.ControlPlaneVersion
	if data == nil || data.Desired.Version != "4.21.0" || data.Desired.Image != "data" || data.History[0].Version != "4.21.0" || hcp.Status.Version != "4.21.0" {
		t.Errorf("the hosted cluster has %+v, version %s", data, hcp.Status.Version)
	}
	if own == nil || own.Desired.Version != "4.21.1" || own.Desired.Image != "own" || own.History[0].Version != "4.21.1" {
		t.Errorf("the control plane has %+v", own)
	}
}
