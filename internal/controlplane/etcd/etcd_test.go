package etcd

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestStorageOfMembers(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	hcp.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
		PersistentVolume: &hyperv1.PersistentVolumeEtcdStorageSpec{Size: ptr.To(resource.MustParse("9Gi")), StorageClassName: ptr.To("fast")}}}
	volume := claim(hcp).Spec
	if got := volume.Resources.Requests.Storage().String(); got != "9Gi" || *volume.StorageClassName != "fast" {
		t.Errorf("%s of class %s", got, *volume.StorageClassName)
	}
}
