package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of every kind of this package.
var GroupVersion = schema.GroupVersion{Group: "hypershift.openshift.io", Version: "v1beta1"}

// SchemeGroupVersion is GroupVersion under the name that the generated client asks for.
var SchemeGroupVersion = GroupVersion

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package.
var AddToScheme = schemeBuilder.AddToScheme

// Resource qualifies a resource name with the group of this package.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&HostedCluster{}, &HostedClusterList{},
		&NodePool{}, &NodePoolList{},
		&HostedControlPlane{}, &HostedControlPlaneList{},
		&ControlPlaneComponent{}, &ControlPlaneComponentList{},
		&AzurePrivateLinkService{}, &AzurePrivateLinkServiceList{},
		&HCPEtcdBackup{}, &HCPEtcdBackupList{},
		&CertificateSigningRequestApproval{}, &CertificateSigningRequestApprovalList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
