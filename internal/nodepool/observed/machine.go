// Package observed reads what Cluster API says of a node pool's machines, and of what makes them.
package observed

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Conditions of a Machine.
const (
	Ready               = "Ready"
	InfrastructureReady = "InfrastructureReady"
	NodeHealthy         = "NodeHealthy"
	NodeReady           = "NodeReady"
	Deleting            = "Deleting"
)

// Failure is what no retry mends. Azure's provider has no condition for it.
type Failure struct{ Reason, Message string }

// FailureOf reads it off a machine; empty when there is none.
//
//nolint:staticcheck // deprecated, and told nowhere else
func FailureOf(m capiv1.Machine) Failure {
	if m.Status.Deprecated == nil || m.Status.Deprecated.V1Beta1 == nil {
		return Failure{}
	}
	told := m.Status.Deprecated.V1Beta1
	return Failure{Reason: string(ptr.Deref(told.FailureReason, "")), Message: ptr.Deref(told.FailureMessage, "")}
}

// UserDataOf is the Secret that machines of a template start with.
func UserDataOf(spec capiv1.MachineSpec) string { return ptr.Deref(spec.Bootstrap.DataSecretName, "") }

// Decode reads an object as its Go type.
func Decode[T any](obj *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return out, nil
}
