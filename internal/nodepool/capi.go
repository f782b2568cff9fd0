package nodepool

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machineFailure is what no retry mends. Azure's provider has no condition for it.
type machineFailure struct{ reason, message string }

// failureOf reads it off a machine; empty when there is none.
//
//nolint:staticcheck // deprecated, and told nowhere else
func failureOf(m capiv1.Machine) machineFailure {
	if m.Status.Deprecated == nil || m.Status.Deprecated.V1Beta1 == nil {
		return machineFailure{}
	}
	told := m.Status.Deprecated.V1Beta1
	return machineFailure{reason: string(ptr.Deref(told.FailureReason, "")), message: ptr.Deref(told.FailureMessage, "")}
}

// userDataOf is the Secret that machines of a template start with.
func userDataOf(spec capiv1.MachineSpec) string { return ptr.Deref(spec.Bootstrap.DataSecretName, "") }

func decode[T any](obj *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return out, nil
}
