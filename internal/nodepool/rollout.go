package nodepool

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// clonedFromAnnotation names the template that an AzureMachine was made of.
const clonedFromAnnotation = "cluster.x-k8s.io/cloned-from-name"

// updating tells of an update that is under way. One that was begun ends with its rollout, also where the pool has returned meanwhile to what
// it calls current: machines of what it turned away from are still there. Platform None has no machines to update.
func (p *pass) updating(condition string, differs bool, message string) {
	if p.np.Spec.Platform.Type == hyperv1.NonePlatform {
		p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
		return
	}
	known := p.condition(condition)
	if differs || known.Status == corev1.ConditionTrue || known.Reason == hyperv1.InplaceUpgradeFailedReason {
		failure, progress := p.inPlaceProgress(condition)
		if failure != "" {
			p.set(condition, corev1.ConditionFalse, hyperv1.InplaceUpgradeFailedReason, failure)
			return
		}
		p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, cmp.Or(progress, message))
		return
	}
	p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
}

// rollout advances what the pool calls current once every machine is of the target and available, and the former ones are gone with their nodes.
func (r *Reconciler) rollout(ctx context.Context, p *pass) error {
	if p.np.Spec.Platform.Type == hyperv1.NonePlatform {
		p.np.Status.Version = p.release.Version
		return p.stop()
	}
	done, err := r.rolledOut(ctx, p)
	if err != nil {
		return err
	}
	if !done {
		// What former machines were made of stays: one that is lost before its turn is made anew of it.
		return &steps.Waiting{For: "the machines of the target"}
	}
	p.np.Status.Version = p.release.Version
	p.annotate(hyperv1.NodePoolCurrentConfigAnnotation, p.config.hash)
	p.annotate(hyperv1.NodePoolCurrentConfigVersionAnnotation, p.config.version)
	p.annotate(hyperv1.NodePoolPlatformMachineTemplateAnnotation, p.template)
	for _, condition := range []string{hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingPlatformMachineTemplate} {
		p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
	}
	return nil
}

// rolledOut compares with what was read at the start of the pass: a write of this pass makes the next one look again. The counts of a
// MachineDeployment are older than its generation says for a moment, so the Machines themselves are asked as well.
func (r *Reconciler) rolledOut(ctx context.Context, p *pass) (bool, error) {
	live := p.maker
	if live == nil || live.Spec.Replicas == nil || live.Generation != live.Status.ObservedGeneration {
		return false, nil
	}
	spec := live.Spec.Template.Spec
	if spec.InfrastructureRef.Name != p.template || observed.UserDataOf(spec) != names.UserData(p.np, p.config.version) || spec.Version != p.release.Version {
		return false, nil
	}
	wanted, status := *live.Spec.Replicas, live.Status
	if observed.UpdatedInPlace(p.np) {
		return wanted == desiredReplicas(p.np, live, p.floor) && p.changedInPlace(wanted), nil
	}
	if wanted != desiredReplicas(p.np, live, p.floor) || ptr.Deref(status.Replicas, 0) != wanted ||
		ptr.Deref(status.UpToDateReplicas, 0) != wanted || ptr.Deref(status.AvailableReplicas, 0) != wanted {
		return false, nil
	}
	if !p.machinesAreOfTarget(wanted) {
		return false, nil
	}
	if p.status(hyperv1.NodePoolUpdatingPlatformMachineTemplate) != corev1.ConditionTrue {
		return true, nil
	}
	return r.machinesAreOfTemplate(ctx, p)
}

// machinesAreOfTarget: a Machine is there until its node is gone, and one that goes is a former one.
func (p *pass) machinesAreOfTarget(wanted int32) bool {
	if len(p.machines) != int(wanted) {
		return false
	}
	for _, m := range p.machines {
		if m.DeletionTimestamp != nil || releaseOf(p.np, m) != p.release.Version || observed.UserDataOf(m.Spec) != names.UserData(p.np, p.config.version) {
			return false
		}
	}
	return true
}

// machinesAreOfTemplate: of the template a Machine does not tell. It is read when a template is all that is left to look at, past the cache,
// which would keep every AzureMachine of the fleet for it.
func (r *Reconciler) machinesAreOfTemplate(ctx context.Context, p *pass) (bool, error) {
	list := clusterapi.NewList(clusterapi.AzureMachine)
	if err := r.live.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return false, fmt.Errorf("list AzureMachines: %w", err)
	}
	templates := map[string]string{}
	for _, item := range list.Items {
		templates[item.GetName()] = item.GetAnnotations()[clonedFromAnnotation]
	}
	for _, m := range p.machines {
		if templates[m.Spec.InfrastructureRef.Name] != p.template {
			return false, nil
		}
	}
	return true, nil
}
