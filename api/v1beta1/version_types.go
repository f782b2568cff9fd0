package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterVersionStatus is the state of the data plane's version.
type ClusterVersionStatus struct {
	// +required
	Desired VersionRelease `json:"desired"`
	// history is ordered by time, newest first.
	// +listType=atomic
	// +optional
	History []UpdateHistory `json:"history,omitempty"`
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +required
	AvailableUpdates []VersionRelease `json:"availableUpdates"`
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	ConditionalUpdates []ConditionalUpdate `json:"conditionalUpdates,omitempty"`
}

// VersionRelease is a version with its payload.
type VersionRelease struct {
	// +optional
	Version string `json:"version"`
	// +optional
	Image string `json:"image"`
	// +optional
	URL string `json:"url,omitempty"`
	// +listType=set
	// +optional
	Channels []string `json:"channels,omitempty"`
}

// ConditionalUpdate is an update with known risks; the risks are carried unchanged.
// +kubebuilder:pruning:PreserveUnknownFields
type ConditionalUpdate struct {
	// +required
	Release VersionRelease `json:"release"`
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
	// +required
	State UpdateState `json:"state"`
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// +nullable
	// +required
	CompletionTime *metav1.Time `json:"completionTime"`
	// +optional
	Version string `json:"version"`
	// +required
	Image string `json:"image"`
	// +required
	Verified bool `json:"verified"`
	// +optional
	AcceptedRisks string `json:"acceptedRisks,omitempty"`
}

// ControlPlaneVersionStatus is the state of the management side's version.
type ControlPlaneVersionStatus struct {
	// +required
	Desired VersionRelease `json:"desired"`
	// history is ordered by time, newest first.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +optional
	History []ControlPlaneUpdateHistory `json:"history,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ControlPlaneUpdateHistory is one entry of the management side's history.
type ControlPlaneUpdateHistory struct {
	// +kubebuilder:validation:Enum=Completed;Partial
	// +required
	State UpdateState `json:"state"`
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9]+\.[0-9]+\.[0-9]+`
	// +optional
	Version string `json:"version,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=447
	// +required
	Image string `json:"image"`
}
