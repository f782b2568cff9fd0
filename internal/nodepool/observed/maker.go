package observed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// Maker is what makes the machines of a pool, as it is read: a MachineDeployment, or a MachineSet where machines are changed in place,
// which never replaces one because of what its template says.
type Maker struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              MakerSpec   `json:"spec"`
	Status            MakerStatus `json:"status"`
}

// MakerSpec is what a maker shall do.
type MakerSpec struct {
	Replicas *int32                     `json:"replicas"`
	Template capiv1.MachineTemplateSpec `json:"template"`
}

// MakerStatus is what it has done.
type MakerStatus struct {
	Conditions         []metav1.Condition `json:"conditions"`
	ObservedGeneration int64              `json:"observedGeneration"`
	Replicas           *int32             `json:"replicas"`
	AvailableReplicas  *int32             `json:"availableReplicas"`
	UpToDateReplicas   *int32             `json:"upToDateReplicas"`
}

// UpdatedInPlace tells whether the pool's machines are changed and not replaced.
func UpdatedInPlace(np *hyperv1.NodePool) bool {
	return np.Spec.Management.UpgradeType == hyperv1.UpgradeTypeInPlace
}

// MakerKind is the kind of the pool's maker; the type of upgrades never changes.
func MakerKind(np *hyperv1.NodePool) schema.GroupVersionKind {
	if UpdatedInPlace(np) {
		return clusterapi.MachineSet
	}
	return clusterapi.MachineDeployment
}
