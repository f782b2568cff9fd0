package inside

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

// kubeletConfigs copies the configurations of kubelets that node pools have, for the operator that tunes nodes. A copy whose source is away
// stays as long as its pool has a machine.
func (r *Reader) kubeletConfigs(ctx context.Context, facts *Facts) error {
	sources, copies := &corev1.ConfigMapList{}, &corev1.ConfigMapList{}
	selected := client.MatchingLabels{contract.KubeletConfigLabel: "true"}
	if err := r.Management.List(ctx, sources, client.InNamespace(r.Namespace), selected); err != nil {
		return fmt.Errorf("list the configurations of kubelets: %w", err)
	}
	if err := r.Live.List(ctx, copies, client.InNamespace(contract.ManagedNamespace), selected); err != nil {
		return fmt.Errorf("list the configurations of kubelets in the guest: %w", err)
	}
	copied := map[string]bool{}
	mirror := func(of *corev1.ConfigMap) {
		copied[of.Name] = true
		facts.Copies = append(facts.Copies, &corev1.ConfigMap{Data: of.Data, ObjectMeta: metav1.ObjectMeta{Namespace: contract.ManagedNamespace, Name: of.Name, Labels: map[string]string{
			contract.KubeletConfigLabel: "true", contract.MirroredLabel: "true", hyperv1.NodePoolLabel: of.Labels[hyperv1.NodePoolLabel]}}})
	}
	for i := range sources.Items {
		mirror(&sources.Items[i])
	}
	var pools map[string]bool
	for i := range copies.Items {
		left := &copies.Items[i]
		if copied[left.Name] || left.Labels[hyperv1.ManagedByLabel] != ManagedBy {
			continue
		}
		if pools == nil {
			var err error
			if pools, err = r.poolsWithMachines(ctx); err != nil {
				return err
			}
		}
		if pools[left.Labels[hyperv1.NodePoolLabel]] {
			mirror(left)
		}
	}
	return nil
}

// poolsWithMachines are the names of node pools.
func (r *Reader) poolsWithMachines(ctx context.Context) (map[string]bool, error) {
	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(plane.MachineKind.GroupVersion().WithKind(plane.MachineKind.Kind + "List"))
	if err := r.Management.List(ctx, machines, client.InNamespace(r.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	pools := map[string]bool{}
	for i := range machines.Items {
		if _, name, found := strings.Cut(machines.Items[i].GetAnnotations()[hyperv1.NodePoolAnnotation], "/"); found {
			pools[name] = true
		}
	}
	return pools, nil
}
