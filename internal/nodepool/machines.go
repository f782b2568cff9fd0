package nodepool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

func (r *Reconciler) machineDeployment(ctx context.Context, p *pass) error {
	if p.template == "" {
		return nil
	}
	if err := r.resize(ctx, p); err != nil {
		return err
	}
	desired, err := desiredMaker(p)
	if err != nil {
		return err
	}
	write := kube.Apply
	if p.maker != nil && !untouched(p, desired) {
		write = kube.ApplyAlways
	}
	err = write(ctx, r.client, FieldManager, desired)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		// No other condition shows what only the API server can refuse, a label or a surge for example.
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.ValidationFailedReason, err.Error())
		p.refused = true
	}
	if err != nil {
		return err
	}
	return nil
}

// untouched tells whether the fields that others like to change still are as this controller wrote them.
func untouched(p *pass, desired *unstructured.Unstructured) bool {
	replicas, ours, _ := unstructured.NestedInt64(desired.Object, "spec", "replicas")
	live := p.maker.Spec
	return (!ours || live.Replicas != nil && int64(*live.Replicas) == replicas) &&
		live.Template.Spec.InfrastructureRef.Name == p.template &&
		observed.UserDataOf(live.Template.Spec) == names.UserData(p.np, p.config.version)
}

func desiredMaker(p *pass) (*unstructured.Unstructured, error) {
	np := p.np
	selector := names.ResourceLabel(p.hc.Spec.InfraID, p.hc.Name, np.Name)
	metadata, err := machineMetadata(p, selector)
	if err != nil {
		return nil, err
	}
	template := map[string]any{
		"clusterName":       p.hc.Spec.InfraID,
		"bootstrap":         map[string]any{"dataSecretName": names.UserData(np, p.config.version)},
		"infrastructureRef": map[string]any{"apiGroup": clusterapi.InfrastructureGroup, "kind": clusterapi.AzureMachineTemplate.Kind, "name": p.template},
		"version":           p.release.Version,
	}
	if deletion := deletionTimeouts(np); len(deletion) > 0 {
		template["deletion"] = deletion
	}
	made := clusterapi.New(observed.MakerKind(np), p.namespace, np.Name)
	made.SetLabels(map[string]string{contract.ClusterNameLabel: p.hc.Spec.InfraID})
	annotations := map[string]string{hyperv1.NodePoolAnnotation: names.Reference(np), hyperv1.NodePoolReleaseVersionAnnotation: p.release.Version}
	maps.Copy(annotations, autoscalerAnnotations(p))
	maps.Copy(annotations, inPlaceAnnotations(p))
	made.SetAnnotations(annotations)
	spec := map[string]any{
		"clusterName": p.hc.Spec.InfraID,
		// Cluster API's MachineSets carry the cluster's label in their selector whatever stands here; were it missing, the two
		// controllers would take turns writing it and removing it.
		"selector": map[string]any{"matchLabels": map[string]any{selector: selector, contract.ClusterNameLabel: p.hc.Spec.InfraID}},
		"template": map[string]any{"metadata": metadata, "spec": template},
	}
	if !observed.UpdatedInPlace(np) {
		spec["rollout"] = map[string]any{"strategy": rolloutStrategy(np.Spec.Management.Replace)}
	}
	if p.ownsReplicas() {
		spec["replicas"] = int64(desiredReplicas(np, p.maker, p.floor))
	}
	made.Object["spec"] = spec
	return made, nil
}

// machineMetadata carries what nodes inherit: Cluster API copies changes onto living machines without replacing them.
func machineMetadata(p *pass, selector string) (map[string]any, error) {
	labels := map[string]any{selector: selector, contract.ClusterNameLabel: p.hc.Spec.InfraID}
	for key, value := range p.np.Spec.NodeLabels {
		labels[hyperv1.ManagedNodeLabelPrefix+"."+key] = value
	}
	annotations := map[string]any{hyperv1.NodePoolAnnotation: names.Reference(p.np)}
	if !observed.UpdatedInPlace(p.np) {
		labels[hyperv1.ManagedNodeLabelPrefix+"."+hyperv1.NodePoolGlobalPullSecretLabel] = "true"
		// Of one that is changed in place who changes it tells the release.
		annotations[hyperv1.NodePoolReleaseVersionAnnotation] = p.release.Version
	}
	if len(p.np.Spec.Taints) > 0 {
		encoded, err := json.Marshal(p.np.Spec.Taints)
		if err != nil {
			return nil, fmt.Errorf("encode spec.taints: %w", err)
		}
		annotations[hyperv1.NodePoolTaintsAnnotation] = string(encoded)
	}
	return map[string]any{"labels": labels, "annotations": annotations}, nil
}

func deletionTimeouts(np *hyperv1.NodePool) map[string]any {
	out := map[string]any{}
	for key, timeout := range map[string]*metav1.Duration{
		"nodeDrainTimeoutSeconds": np.Spec.NodeDrainTimeout, "nodeVolumeDetachTimeoutSeconds": np.Spec.NodeVolumeDetachTimeout,
	} {
		if timeout != nil {
			out[key] = int64(timeout.Seconds())
		}
	}
	return out
}

// desiredReplicas is the user's number, or with autoscaling the present one within its bounds, of which floor is the lower. Without either
// the pool stays as large as it is: autoscaling was taken away.
func desiredReplicas(np *hyperv1.NodePool, live *observed.Maker, floor int32) int32 {
	var current int32
	if live != nil && live.Spec.Replicas != nil {
		current = *live.Spec.Replicas
	}
	if np.Spec.AutoScaling == nil {
		return ptr.Deref(np.Spec.Replicas, current)
	}
	return min(max(current, floor), np.Spec.AutoScaling.Max)
}

func rolloutStrategy(replace *hyperv1.ReplaceUpgrade) map[string]any {
	if replace.Strategy == hyperv1.UpgradeStrategyOnDelete {
		return map[string]any{"type": "OnDelete"}
	}
	surge, unavailable := intstr.FromInt32(1), intstr.FromInt32(0)
	if update := replace.RollingUpdate; update != nil {
		if update.MaxSurge != nil {
			surge = *update.MaxSurge
		}
		if update.MaxUnavailable != nil {
			unavailable = *update.MaxUnavailable
		}
	}
	return map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
		"maxSurge": intOrString(surge), "maxUnavailable": intOrString(unavailable),
	}}
}

func intOrString(value intstr.IntOrString) any {
	if value.Type == intstr.String {
		return value.StrVal
	}
	return int64(value.IntVal)
}

// readMachines reads what Cluster API made of the pool; nodesInfo is told even when a condition stops the pass.
func (r *Reconciler) readMachines(ctx context.Context, p *pass) error {
	live := clusterapi.New(observed.MakerKind(p.np), p.namespace, p.np.Name)
	err := r.client.Get(ctx, client.ObjectKeyFromObject(live), live)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		p.np.Status.Replicas = 0
	case err != nil:
		return fmt.Errorf("read %s %s: %w", live.GetKind(), live.GetName(), err)
	default:
		if p.maker, err = observed.Decode[observed.Maker](live); err != nil {
			return err
		}
		p.np.Status.Replicas = ptr.Deref(p.maker.Status.AvailableReplicas, 0)
	}
	items, err := poolObjects(ctx, r.client, p, clusterapi.Machine)
	if err != nil {
		for _, condition := range []string{hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy} {
			p.set(condition, corev1.ConditionUnknown, hyperv1.FailedToGetReason, err.Error())
		}
		return err
	}
	for i := range items {
		decoded, err := observed.Decode[capiv1.Machine](&items[i])
		if err != nil {
			return err
		}
		p.machines = append(p.machines, *decoded)
	}
	p.np.Status.NodesInfo = nodesInfo(p.np, p.machines)
	return nil
}
