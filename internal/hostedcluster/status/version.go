package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// observeVersion takes the history over from the control plane; before the first report it says what is being installed.
func observeVersion(c *cluster.Cluster, hcp *hyperv1.HostedControlPlane, facts Facts) {
	status := &c.Hosted.Status
	switch {
	case hcp != nil && hcp.Status.VersionStatus != nil:
		status.Version = hcp.Status.VersionStatus.DeepCopy()
	case status.Version == nil:
		status.Version = &hyperv1.ClusterVersionStatus{
			Desired: hyperv1.VersionRelease{Image: c.Hosted.Spec.Release.Image},
			History: []hyperv1.UpdateHistory{{
				State: hyperv1.PartialUpdate, StartedTime: metav1.NewTime(c.Now().Truncate(1e9)), Image: c.Hosted.Spec.Release.Image,
			}},
			ObservedGeneration: c.Hosted.Generation,
		}
	}
	if facts.Release != nil && status.Version.Desired.Version == "" && status.Version.Desired.Image == facts.Release.Image {
		status.Version.Desired.Version = facts.Release.Version
		if len(status.Version.History) == 1 && status.Version.History[0].Version == "" {
			status.Version.History[0].Version = facts.Release.Version
		}
	}
	observeProgress(c, facts.BlockedUpgrade)
}

// waitingOn is what the rollout waits for, in the words of the hosted cluster's own version; empty while it says nothing.
func waitingOn(c *cluster.Cluster) string {
	told := kube.Find(c.Hosted.Status.Conditions, hyperv1.ClusterVersionProgressing)
	if told == nil || told.Status != metav1.ConditionTrue || told.Message == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(told.Message, ".")
}

// refused says why the release cannot be used; empty where it can.
func refused(c *cluster.Cluster) string {
	valid := kube.Find(c.Hosted.Status.Conditions, hyperv1.ValidReleaseImage)
	if valid == nil || valid.Status != metav1.ConditionFalse {
		return ""
	}
	return valid.Message
}

func observeProgress(c *cluster.Cluster, blocked string) {
	conditions, version := c.Conditions(), c.Hosted.Status.Version
	rolling := len(version.History) == 0 || version.History[0].State != hyperv1.CompletedUpdate
	switch {
	case blocked != "":
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.BlockedReason, blocked)
	case version.Desired.Image != c.Hosted.Spec.Release.Image && refused(c) != "":
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.BlockedReason,
			fmt.Sprintf("Moving from %s to %s is refused: %s", version.Desired.Image, c.Hosted.Spec.Release.Image, refused(c)))
	case version.Desired.Image != c.Hosted.Spec.Release.Image:
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.ProgressingReason,
			fmt.Sprintf("Moving from %s to %s.", version.Desired.Image, c.Hosted.Spec.Release.Image))
	case rolling:
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.ProgressingReason, "Rolling out "+version.Desired.Image+waitingOn(c)+".")
	default:
		conditions.False(hyperv1.HostedClusterProgressing, hyperv1.AsExpectedReason, "The cluster runs the desired release.")
	}
}
