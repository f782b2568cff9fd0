package configuration

import (
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// fileProvisioner is the name of the driver of Azure's file shares.
const fileProvisioner = "file.csi.azure.com"

// HubKind is OpenShift's OperatorHub, which says which default catalogs there are.
var HubKind = configv1.GroupVersion.WithKind("OperatorHub")

// storage are what OpenShift's operators of volumes and snapshots work by, and of Azure's drivers where they have identities.
func storage(facts *inside.Facts) []*unstructured.Unstructured {
	managed := func(kind, name string) *unstructured.Unstructured {
		return object(operatorv1.GroupVersion.WithKind(kind), "", name, map[string]any{"spec": map[string]any{
			"managementState": string(operatorv1.Managed), "logLevel": string(operatorv1.Normal), "operatorLogLevel": string(operatorv1.Normal)}})
	}
	out := []*unstructured.Unstructured{managed("CSISnapshotController", Singleton), managed("Storage", Singleton)}
	if azure := facts.HCP.Spec.Platform.Azure; azure != nil && azure.AzureAuthenticationConfig.WorkloadIdentities != nil {
		out = append(out, managed("ClusterCSIDriver", inside.DiskProvisioner), managed("ClusterCSIDriver", fileProvisioner))
	}
	return out
}

// operatorHub follows the HostedCluster where the catalogs run beside the control plane; where they run in the guest it is the guest's.
func operatorHub(facts *inside.Facts) []*unstructured.Unstructured {
	if inside.CatalogsInGuest(facts.HCP) {
		return nil
	}
	return []*unstructured.Unstructured{singletons.Object(HubKind.Kind, Singleton, hubSpec(facts.HCP), nil)}
}

func hubSpec(hcp *hyperv1.HostedControlPlane) map[string]any {
	spec := map[string]any{}
	if c := hcp.Spec.Configuration; c != nil && c.OperatorHub != nil && c.OperatorHub.DisableAllDefaultSources {
		spec["disableAllDefaultSources"] = true
	}
	return spec
}
