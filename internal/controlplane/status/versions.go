package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const historyLimit = 100

// setVersions keeps the history of the management side; that of the guest is its ClusterVersion's, which the config operator reports.
func (s *Status) setVersions() {
	if s.Release == nil || s.GuestRelease == nil {
		return
	}
	status, now := &s.HCP.Status, metav1.NewTime(s.Now().Truncate(1e9))
	if image := s.HCP.Spec.ReleaseImage; status.ReleaseImage != image {
		status.ReleaseImage, status.Version = image, s.GuestRelease.Version
		status.LastReleaseImageTransitionTime = &now
	}
	done := s.rolledOut()
	s.setControlPlaneVersion(now, done)
}

func (s *Status) rolledOut() bool {
	return len(s.Results) > 0 && !slices.ContainsFunc(s.Results, func(r component.Result) bool { return !r.Ready() })
}

func (s *Status) setControlPlaneVersion(now metav1.Time, done bool) {
	desired := hyperv1.VersionRelease{Version: s.Release.Version, Image: s.ManagementRelease}
	version := s.HCP.Status.ControlPlaneVersion
	if version == nil {
		version = &hyperv1.ControlPlaneVersionStatus{}
		s.HCP.Status.ControlPlaneVersion = version
	}
	version.Desired, version.ObservedGeneration = desired, s.HCP.Generation
	if len(version.History) == 0 || version.History[0].Image != desired.Image {
		entry := hyperv1.ControlPlaneUpdateHistory{State: hyperv1.PartialUpdate, StartedTime: now, Version: desired.Version, Image: desired.Image}
		version.History = append([]hyperv1.ControlPlaneUpdateHistory{entry}, version.History...)
		version.History = version.History[:min(len(version.History), historyLimit)]
	}
	if newest := &version.History[0]; done && newest.State == hyperv1.PartialUpdate {
		newest.State, newest.CompletionTime = hyperv1.CompletedUpdate, ptr.To(now)
		// The former entry is closed at the moment its successor is complete.
		if len(version.History) > 1 && version.History[1].CompletionTime == nil {
			version.History[1].CompletionTime = ptr.To(now)
		}
	}
}
