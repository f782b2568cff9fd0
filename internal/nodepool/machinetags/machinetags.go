// Package machinetags makes the tags of a node pool's machines, and writes them on those that there are.
package machinetags

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// Of are the tags of a pool's machines: those of the cluster, and the pool's own, which win. Azure's provider would take the cluster's
// from the AzureCluster, too, but does not look at the machines that there are when they change.
func Of(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) (map[string]any, error) {
	all := map[string]string{}
	for _, source := range []struct {
		kind        string
		annotations map[string]string
	}{{"HostedCluster", hc.Annotations}, {"NodePool", np.Annotations}} {
		tags, err := tags.Parse(source.annotations[hyperv1.AzureTagsAnnotation])
		if err != nil {
			return nil, fmt.Errorf("annotation %s of the %s: %w", hyperv1.AzureTagsAnnotation, source.kind, err)
		}
		for name, value := range tags {
			// Azure does not tell upper from lower case.
			maps.DeleteFunc(all, func(other, _ string) bool { return strings.EqualFold(other, name) })
			all[name] = value
		}
	}
	if err := tags.Check(all); err != nil {
		return nil, fmt.Errorf("annotations %s of HostedCluster and NodePool together: %w", hyperv1.AzureTagsAnnotation, err)
	}
	out := map[string]any{}
	for name, value := range all {
		out[name] = value
	}
	return out, nil
}

// Same compares the tags of two templates.
func Same(a, b *unstructured.Unstructured) bool {
	fields := []string{"spec", "template", "spec", "additionalTags"}
	one, _, _ := unstructured.NestedMap(a.Object, fields...)
	other, _, _ := unstructured.NestedMap(b.Object, fields...)
	return maps.Equal(one, other)
}

// Write gives the machines that there are the pool's tags; Azure's provider writes them to the virtual machines, and takes away those
// that it wrote before. They are read live, past the cache, which would keep every AzureMachine of the fleet for it.
func Write(ctx context.Context, c client.Client, live client.Reader, namespace string, machines []capiv1.Machine, tags map[string]any) error {
	if len(machines) == 0 {
		return nil
	}
	list := clusterapi.NewList(clusterapi.AzureMachine)
	if err := live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list AzureMachines: %w", err)
	}
	ours := map[string]bool{}
	for _, m := range machines {
		ours[m.Spec.InfrastructureRef.Name] = true
	}
	for i := range list.Items {
		machine := &list.Items[i]
		if !ours[machine.GetName()] || machine.GetDeletionTimestamp() != nil {
			continue
		}
		before := machine.DeepCopy()
		if unstructured.RemoveNestedField(machine.Object, "spec", "additionalTags"); len(tags) > 0 {
			if err := unstructured.SetNestedMap(machine.Object, tags, "spec", "additionalTags"); err != nil {
				return fmt.Errorf("AzureMachine %s: %w", machine.GetName(), err)
			}
		}
		if equality.Semantic.DeepEqual(before.Object, machine.Object) {
			continue
		}
		if err := client.IgnoreNotFound(c.Patch(ctx, machine, client.MergeFrom(before))); err != nil {
			return fmt.Errorf("tag AzureMachine %s in namespace %s: %w", machine.GetName(), namespace, err)
		}
	}
	return nil
}
