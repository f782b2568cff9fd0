// Package monitors keeps the monitors of a control plane, where the management cluster serves their API.
package monitors

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

// Served tells whether the management cluster has the Prometheus operator's API.
func Served(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(monitor.Kind.GroupKind(), monitor.Kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the API of monitors: %w", err)
	}
	return true, nil
}

// beenAvailable: the cluster's version was available once, which alerts on its metrics take for granted. What is false for a while
// does not end it: its history remembers.
func beenAvailable(hcp *hyperv1.HostedControlPlane) bool {
	if kube.IsTrue(hcp.Status.Conditions, hyperv1.ClusterVersionAvailable) {
		return true
	}
	return hcp.Status.VersionStatus != nil && slices.ContainsFunc(hcp.Status.VersionStatus.History, func(h hyperv1.UpdateHistory) bool {
		return h.State == hyperv1.CompletedUpdate
	})
}

// Monitors of one control plane.
type Monitors struct {
	component.Writer
	// Set is what monitors keep, unless the control plane says otherwise.
	Set monitor.Set
	// Results say which components there are.
	Results component.Results
}

// Keep brings the monitors of what there is, and takes away the others.
func (m Monitors) Keep(ctx context.Context) error {
	served, err := Served(m.Client.RESTMapper())
	if err != nil || !served {
		return err
	}
	var objects []client.Object
	if _, off := m.HCP.Annotations[hyperv1.DisableMonitoringServicesAnnotation]; !off {
		if !beenAvailable(m.HCP) {
			return nil
		}
		if objects, err = m.objects(ctx); err != nil {
			return err
		}
		// A binding comes after its role.
		for _, obj := range monitor.Access(m.HCP.Namespace) {
			if err := m.Apply(ctx, obj); err != nil {
				return err
			}
		}
	}
	wanted := map[string]bool{}
	for _, obj := range objects {
		wanted[obj.GetName()] = true
	}
	if err := m.Apply(ctx, objects...); err != nil {
		return err
	}
	return m.remove(ctx, wanted)
}

func (m Monitors) objects(ctx context.Context) ([]client.Object, error) {
	set := m.Set
	if own := m.HCP.Spec.Monitoring; own != nil && own.MetricsSet != "" {
		set = monitor.Set(own.MetricsSet)
	}
	var sre map[string][]any
	if set == monitor.SRE {
		given := &corev1.ConfigMap{}
		err := m.Client.Get(ctx, client.ObjectKey{Namespace: m.HCP.Namespace, Name: monitor.SREConfigMap}, given)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read ConfigMap %s: %w", monitor.SREConfigMap, err)
		}
		if sre, err = monitor.ParseSRE(given.Data[monitor.SREKey]); err != nil {
			return nil, err
		}
	}
	return monitor.Objects(m.HCP, set, sre, m.exists), nil
}

// exists: components are known by their results; the others are the HostedCluster controller's, and the provider is Azure's.
func (m Monitors) exists(name string) bool {
	if m.Results.Has(name) {
		return !m.Results.Of(name).Absent
	}
	return name != contract.ClusterAPIProvider || m.HCP.Spec.Platform.Type == hyperv1.AzurePlatform
}

// remove deletes our own of what is no longer there.
func (m Monitors) remove(ctx context.Context, wanted map[string]bool) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(monitor.Kind)
	if err := m.Client.List(ctx, list, client.InNamespace(m.HCP.Namespace)); err != nil {
		return fmt.Errorf("list the monitors: %w", err)
	}
	for i := range list.Items {
		live := &list.Items[i]
		if wanted[live.GetName()] || !metav1.IsControlledBy(live, m.HCP) {
			continue
		}
		if err := kube.DeleteIfExists(ctx, m.Client, live); err != nil {
			return err
		}
	}
	return nil
}
