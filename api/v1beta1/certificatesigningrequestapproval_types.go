package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CertificateSigningRequestApproval approves the CertificateSigningRequest of its name. The kind serves access for emergencies of
// managed services; this operator acts on none.
// +genclient
// +genclient:noStatus
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=Default"
// +kubebuilder:resource:path=certificatesigningrequestapprovals,shortName=csra;csras,scope=Namespaced
// +kubebuilder:storageversion
type CertificateSigningRequestApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is empty: the name says it all.
	// +optional
	Spec CertificateSigningRequestApprovalSpec `json:"spec,omitempty"`
	// status is empty.
	// +optional
	Status CertificateSigningRequestApprovalStatus `json:"status,omitempty"`
}

// CertificateSigningRequestApprovalList is a list of CertificateSigningRequestApprovals.
// +kubebuilder:object:root=true
type CertificateSigningRequestApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CertificateSigningRequestApproval `json:"items"`
}

// CertificateSigningRequestApprovalSpec is empty.
type CertificateSigningRequestApprovalSpec struct{}

// CertificateSigningRequestApprovalStatus is empty.
type CertificateSigningRequestApprovalStatus struct{}
