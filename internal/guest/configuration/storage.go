package configuration

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// snapshotClass is how snapshots of Azure's disks are taken when nobody says otherwise: each holds what has changed since the last.
func snapshotClass(facts *inside.Facts) []*unstructured.Unstructured {
	if !facts.HasDisks() || !facts.Has(contract.SnapshotController) {
		return nil
	}
	class := &unstructured.Unstructured{Object: map[string]any{
		"driver": inside.DiskProvisioner, "deletionPolicy": "Delete", "parameters": map[string]any{"incremental": "true"},
	}}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotClass"})
	class.SetName("csi-azuredisk-vsc")
	class.SetAnnotations(map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"})
	return []*unstructured.Unstructured{class}
}
