package releases

import (
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// TestAdmit: without a release that may run, only what runs already is kept up.
func TestAdmit(t *testing.T) {
	plane := func(image, own string) *hyperv1.HostedControlPlane {
		hcp := &hyperv1.HostedControlPlane{Spec: hyperv1.HostedControlPlaneSpec{ReleaseImage: image}}
		if own != "" {
			hcp.Spec.ControlPlaneReleaseImage = &own
		}
		return hcp
	}
	for title, c := range map[string]struct {
		own      string
		plane    *hyperv1.HostedControlPlane
		usable   bool
		admitted bool
	}{
		"usable":                {usable: true, admitted: true},
		"nothing runs":          {},
		"runs":                  {plane: plane("image", ""), admitted: true},
		"another runs":          {plane: plane("other", "")},
		"its own runs":          {own: "own", plane: plane("image", "own"), admitted: true},
		"another of its own":    {own: "own", plane: plane("image", "other")},
		"its own does not run":  {own: "own", plane: plane("image", "")},
		"its own runs no more":  {plane: plane("image", "own")},
		"its own is the common": {own: "image", plane: plane("image", ""), admitted: true},
	} {
		hc := &hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{Release: hyperv1.Release{Image: "image"}}}
		if c.own != "" {
			hc.Spec.ControlPlaneRelease = &hyperv1.Release{Image: c.own}
		}
		if err := Admit(hc, c.plane, c.usable); (err == nil) != c.admitted {
			t.Errorf("%s: %v", title, err)
		}
	}
}
