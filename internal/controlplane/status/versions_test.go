package status

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
	s := &Status{
		Now: time.Now, HCP: hcp, ManagementRelease: "own",
		Release: &release.Release{Version: "4.21.1"}, GuestRelease: &release.Release{Version: "4.21.0"},
	}
	s.setVersions()
	own := hcp.Status.ControlPlaneVersion
	if hcp.Status.VersionStatus != nil || hcp.Status.Version != "4.21.0" || hcp.Status.ReleaseImage != "data" {
		t.Errorf("the hosted cluster has %+v, version %s of %s", hcp.Status.VersionStatus, hcp.Status.Version, hcp.Status.ReleaseImage)
	}
	if own == nil || own.Desired.Version != "4.21.1" || own.Desired.Image != "own" || own.History[0].Version != "4.21.1" {
		t.Errorf("the control plane has %+v", own)
	}
}
