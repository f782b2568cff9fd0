package controlplane

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
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

// servesMonitors tells whether the management cluster has the Prometheus operator's API.
func servesMonitors(mapper meta.RESTMapper) (bool, error) {
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

// monitorComponents keeps the monitors of what there is.
func (p *pass) monitorComponents(ctx context.Context) error {
	served, err := servesMonitors(p.Client.RESTMapper())
	if err != nil || !served {
		return err
	}
	var objects []client.Object
	if _, off := p.hcp.Annotations[hyperv1.DisableMonitoringServicesAnnotation]; !off {
		if !beenAvailable(p.hcp) {
			return nil
		}
		if objects, err = p.monitors(ctx); err != nil {
			return err
		}
		for _, obj := range monitor.Access(p.hcp.Namespace) {
			component.Own(p.hcp, obj)
			if err := p.keeper.Apply(ctx, p.Client, component.FieldManager, obj); err != nil {
				return err
			}
		}
	}
	wanted := map[string]bool{}
	for _, obj := range objects {
		wanted[obj.GetName()] = true
		component.Own(p.hcp, obj)
	}
	if err := p.applyEach(ctx, objects); err != nil {
		return err
	}
	return p.removeMonitors(ctx, wanted)
}

func (p *pass) monitors(ctx context.Context) ([]client.Object, error) {
	set := p.MetricsSet
	if own := p.hcp.Spec.Monitoring; own != nil && own.MetricsSet != "" {
		set = monitor.Set(own.MetricsSet)
	}
	var sre map[string][]any
	if set == monitor.SRE {
		given := &corev1.ConfigMap{}
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.hcp.Namespace, Name: monitor.SREConfigMap}, given)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read ConfigMap %s: %w", monitor.SREConfigMap, err)
		}
		if sre, err = monitor.ParseSRE(given.Data[monitor.SREKey]); err != nil {
			return nil, err
		}
	}
	return monitor.Objects(p.hcp, set, sre, p.exists), nil
}

// exists: components are known by their results; the others are the HostedCluster controller's, and the provider is Azure's.
func (p *pass) exists(name string) bool {
	for _, r := range p.results {
		if r.Name == name {
			return !r.Absent
		}
	}
	return name != "capi-provider" || p.hcp.Spec.Platform.Type == hyperv1.AzurePlatform
}

// removeMonitors deletes our own of what is no longer there.
func (p *pass) removeMonitors(ctx context.Context, wanted map[string]bool) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(monitor.Kind)
	if err := p.Client.List(ctx, list, client.InNamespace(p.hcp.Namespace)); err != nil {
		return fmt.Errorf("list the monitors: %w", err)
	}
	for i := range list.Items {
		live := &list.Items[i]
		if wanted[live.GetName()] || !metav1.IsControlledBy(live, p.hcp) {
			continue
		}
		if err := kube.DeleteIfExists(ctx, p.Client, live); err != nil {
			return err
		}
	}
	return nil
}
