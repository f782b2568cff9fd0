package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterVersionStatus is the state of the data plane's version.
type ClusterVersionStatus struct {
	// desired is the version being moved to.
	// +required
	Desired VersionRelease `json:"desired"`
	// history is ordered by time, newest first.
	// +listType=atomic
	// +optional
	History []UpdateHistory `json:"history,omitempty"`
	// observedGeneration is the generation the status speaks of.
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`
	// availableUpdates are recommended updates; null while unknown.
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +required
	AvailableUpdates []VersionRelease `json:"availableUpdates"`
	// conditionalUpdates are updates with known risks.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	ConditionalUpdates []ConditionalUpdate `json:"conditionalUpdates,omitempty"`
}

// VersionRelease is a version with its payload.
type VersionRelease struct {
	// version of the release.
	// +optional
	Version string `json:"version"`
	// image is the pull reference of the payload.
	// +optional
	Image string `json:"image"`
	// url describes the release.
	// +optional
	URL string `json:"url,omitempty"`
	// channels that carry the release.
	// +listType=set
	// +optional
	Channels []string `json:"channels,omitempty"`
}

// ConditionalUpdate is an update with known risks; the risks are carried unchanged.
// +kubebuilder:pruning:PreserveUnknownFields
type ConditionalUpdate struct {
	// release is the update.
	// +required
	Release VersionRelease `json:"release"`
	// conditions say whether it is recommended.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// UpdateState says whether an update was applied.
type UpdateState string

// Update states.
const (
	CompletedUpdate UpdateState = "Completed"
	PartialUpdate   UpdateState = "Partial"
)

// UpdateHistory is one entry of a version's history.
type UpdateHistory struct {
	// state is Completed or Partial.
	// +required
	State UpdateState `json:"state"`
	// startedTime is when the update began.
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// completionTime is when it ended; null while it runs.
	// +nullable
	// +required
	CompletionTime *metav1.Time `json:"completionTime"`
	// version of the release.
	// +optional
	Version string `json:"version"`
	// image is the pull reference of the payload.
	// +required
	Image string `json:"image"`
	// verified tells whether the payload's signature was checked.
	// +required
	Verified bool `json:"verified"`
	// acceptedRisks says what the user accepted.
	// +optional
	AcceptedRisks string `json:"acceptedRisks,omitempty"`
}

// ControlPlaneVersionStatus is the state of the management side's version.
type ControlPlaneVersionStatus struct {
	// desired is the version being moved to.
	// +required
	Desired VersionRelease `json:"desired"`
	// history is ordered by time, newest first.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +optional
	History []ControlPlaneUpdateHistory `json:"history,omitempty"`
	// observedGeneration is the generation the status speaks of.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ControlPlaneUpdateHistory is one entry of the management side's history.
type ControlPlaneUpdateHistory struct {
	// state is Completed or Partial.
	// +kubebuilder:validation:Enum=Completed;Partial
	// +required
	State UpdateState `json:"state"`
	// startedTime is when the update began.
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// completionTime is when it ended; absent while it runs.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// version of the release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9]+\.[0-9]+\.[0-9]+`
	// +optional
	Version string `json:"version,omitempty"`
	// image is the pull reference of the payload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=447
	// +required
	Image string `json:"image"`
}
