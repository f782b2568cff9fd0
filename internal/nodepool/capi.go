package nodepool

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// The structs below are the parts of those kinds that this controller reads: the modules would pull half of Azure in.
type (
	machineDeployment struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Replicas *int32 `json:"replicas"`
			Template struct {
				Spec struct {
					InfrastructureRef objectName `json:"infrastructureRef"`
					Version           string     `json:"version"`
					Bootstrap         bootstrap  `json:"bootstrap"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
		Status struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			Replicas           int32              `json:"replicas"`
			AvailableReplicas  int32              `json:"availableReplicas"`
			UpToDateReplicas   int32              `json:"upToDateReplicas"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}

	machineHealthCheck struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}

	machine struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Version           string     `json:"version"`
			InfrastructureRef objectName `json:"infrastructureRef"`
			Bootstrap         bootstrap  `json:"bootstrap"`
		} `json:"spec"`
		Status struct {
			NodeInfo *struct {
				KubeletVersion string `json:"kubeletVersion"`
			} `json:"nodeInfo"`
			Addresses  []machineAddress   `json:"addresses"`
			Conditions []metav1.Condition `json:"conditions"`
			Deprecated struct {
				V1Beta1 machineFailure `json:"v1beta1"`
			} `json:"deprecated"`
		} `json:"status"`
	}

	// machineFailure is what no retry mends. Azure's provider has no condition for it.
	machineFailure struct {
		Reason  string `json:"failureReason"`
		Message string `json:"failureMessage"`
	}

	bootstrap struct {
		DataSecretName string `json:"dataSecretName"`
	}

	machineAddress struct {
		Type    string `json:"type"`
		Address string `json:"address"`
	}

	objectName struct {
		Name string `json:"name"`
	}
)

func decode[T any](obj *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return out, nil
}
