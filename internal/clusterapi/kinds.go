// Package clusterapi names the kinds of Cluster API and of its Azure provider that controllers read and write. They are written as plain
// maps: the provider's Go module would bring half of Azure's with it, and the API server checks the maps against the same schemas.
package clusterapi

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is Cluster API's own.
	Group = "cluster.x-k8s.io"
	// InfrastructureGroup is that of its providers.
	InfrastructureGroup = "infrastructure.cluster.x-k8s.io"
)

// Kinds of Cluster API.
var (
	Cluster            = schema.GroupVersionKind{Group: Group, Version: "v1beta2", Kind: "Cluster"}
	Machine            = schema.GroupVersionKind{Group: Group, Version: "v1beta2", Kind: "Machine"}
	MachineDeployment  = schema.GroupVersionKind{Group: Group, Version: "v1beta2", Kind: "MachineDeployment"}
	MachineSet         = schema.GroupVersionKind{Group: Group, Version: "v1beta2", Kind: "MachineSet"}
	MachineHealthCheck = schema.GroupVersionKind{Group: Group, Version: "v1beta2", Kind: "MachineHealthCheck"}
)

// Kinds of its Azure provider.
var (
	AzureCluster         = schema.GroupVersionKind{Group: InfrastructureGroup, Version: "v1beta1", Kind: "AzureCluster"}
	AzureClusterIdentity = schema.GroupVersionKind{Group: InfrastructureGroup, Version: "v1beta1", Kind: "AzureClusterIdentity"}
	AzureMachine         = schema.GroupVersionKind{Group: InfrastructureGroup, Version: "v1beta1", Kind: "AzureMachine"}
	AzureMachineTemplate = schema.GroupVersionKind{Group: InfrastructureGroup, Version: "v1beta1", Kind: "AzureMachineTemplate"}
)

// New is an object of the kind without content.
func New(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// NewWithSpec is an object of the kind with a spec.
func NewWithSpec(kind schema.GroupVersionKind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	obj := New(kind, namespace, name)
	obj.Object["spec"] = spec
	return obj
}

// NewList is an empty list of objects of the kind.
func NewList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}
