package releases

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// GateUpgrade holds a change of the minor version back while the cluster says it is not upgradeable. It returns
// why, with the same as a *steps.Stopped; empty when nothing holds it back.
func GateUpgrade(hc *hyperv1.HostedCluster, payload *release.Release) (blocked string, err error) {
	current := currentVersion(hc)
	if current == nil || hc.Status.Version.Desired.Image == hc.Spec.Release.Image {
		return "", nil
	}
	forced, isForced := hc.Annotations[hyperv1.ForceUpgradeToAnnotation]
	wanted, err := version.ParseSemantic(payload.Version)
	if err != nil {
		return "", fmt.Errorf("release version %q: %w", payload.Version, err)
	}
	upgradeable := kube.Find(hc.Status.Conditions, hyperv1.ClusterVersionUpgradeable)
	switch {
	case upgradeable == nil || upgradeable.Status != "False":
	case isForced && forced != hc.Spec.Release.Image:
		blocked = fmt.Sprintf("Annotation %s allows %q, not the desired %q.", hyperv1.ForceUpgradeToAnnotation, forced, hc.Spec.Release.Image)
	case isForced, hc.Spec.ControlPlaneRelease != nil:
	case wanted.Major() == current.Major() && wanted.Minor() == current.Minor():
	default:
		blocked = fmt.Sprintf("The upgrade from %s to %s is blocked: %s", current, wanted, upgradeable.Message)
	}
	if blocked == "" {
		return "", nil
	}
	return blocked, &steps.Stopped{Because: blocked}
}

// Admit lets the pass go on when the release may run. One that the control plane runs already, and that just now cannot be read
// or was found wrong, does not keep the rest from being kept up: a new pull secret may be what makes it readable again. hcp is nil
// before there is a control plane.
func Admit(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, usable bool) error {
	if usable {
		return nil
	}
	if hcp != nil && hcp.Spec.ReleaseImage == hc.Spec.Release.Image && planeImage(hcp) == cluster.ControlPlaneImage(hc) {
		return nil
	}
	return &steps.Stopped{Because: "no release can be used"}
}

// planeImage is the payload that the control plane runs, or is moving to.
func planeImage(hcp *hyperv1.HostedControlPlane) string {
	if image := hcp.Spec.ControlPlaneReleaseImage; image != nil && *image != "" {
		return *image
	}
	return hcp.Spec.ReleaseImage
}
