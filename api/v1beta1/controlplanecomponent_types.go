package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControlPlaneComponent reports the state of one component of a control plane; its name is the component's.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=Default"
// +kubebuilder:resource:path=controlplanecomponents,shortName=cpc;cpcs,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].status"
// +kubebuilder:printcolumn:name="RolloutComplete",type="string",JSONPath=".status.conditions[?(@.type==\"RolloutComplete\")].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].message"
// +kubebuilder:printcolumn:name="RolloutCompleteMessage",type="string",JSONPath=".status.conditions[?(@.type==\"RolloutComplete\")].message",priority=1
type ControlPlaneComponent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ControlPlaneComponentSpec `json:"spec,omitempty"`
	// +optional
	Status ControlPlaneComponentStatus `json:"status,omitempty"`
}

// ControlPlaneComponentList is a list of ControlPlaneComponents.
// +kubebuilder:object:root=true
type ControlPlaneComponentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ControlPlaneComponent `json:"items"`
}

// ControlPlaneComponentSpec is empty: the object only reports.
type ControlPlaneComponentSpec struct{}

// ControlPlaneComponentStatus is the observed state.
type ControlPlaneComponentStatus struct {
	// conditions are Available and RolloutComplete.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// version of the payload, advanced only after the rollout completed.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Version string `json:"version,omitempty"`
	// observedGeneration is the generation the status speaks of.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// resources are the objects of the component.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Resources []ComponentResource `json:"resources,omitempty"`
}

// ComponentResource is one object of a component.
type ComponentResource struct {
	// kind of the object.
	// +required
	Kind string `json:"kind"`
	// group of the object; empty for the core group.
	// +required
	Group string `json:"group"`
	// name of the object.
	// +required
	Name string `json:"name"`
}
