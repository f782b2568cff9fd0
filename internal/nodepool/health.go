package nodepool

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/repair"
)

// health tells how machines and nodes are. It is told in every pass: what is wrong with a payload or an endpoint says nothing about them, and
// they would seem to be as they were before.
func (r *Reconciler) health(ctx context.Context, p *pass) error {
	if p.np.Spec.Platform.Type == hyperv1.NonePlatform {
		return nil
	}
	reportsErr := r.readReports(ctx, p)
	machinesErr := r.machinesReady(ctx, p)
	p.aggregate(hyperv1.NodePoolAllNodesHealthy, "healthy", func(m capiv1.Machine) *problem { return p.withReport(m, healthProblem(m)) })
	return errors.Join(reportsErr, machinesErr, r.ready(ctx, p))
}

// ready copies the health of the MachineDeployment, or says why it may not repair itself, or cannot.
func (r *Reconciler) ready(ctx context.Context, p *pass) error {
	if p.refused {
		return nil
	}
	if p.maker == nil {
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason,
			"there is no "+observed.MakerKind(p.np).Kind+" yet; the other conditions tell how far the node pool is")
		return nil
	}
	status, reason, message := p.availability()
	blocked, err := r.remediationBlocked(ctx, p)
	if err != nil {
		return err
	}
	if blocked != nil {
		status, reason, message = corev1.ConditionFalse, blocked.Reason, blocked.Message
	}
	if p.cause != nil && p.cause.machine == "" {
		status, reason = corev1.ConditionFalse, p.cause.reason
		message = "machines can be neither made nor repaired nor deleted: " + p.cause.message
	}
	p.set(hyperv1.NodePoolReady, status, reason, message)
	return nil
}

// availability is that of the machines: what a MachineDeployment says of them, and of a MachineSet, which says nothing, its count.
func (p *pass) availability() (status corev1.ConditionStatus, reason, message string) {
	if observed.UpdatedInPlace(p.np) {
		available, wanted := int(ptr.Deref(p.maker.Status.AvailableReplicas, 0)), p.wanted()
		if available < wanted {
			return corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason, fmt.Sprintf("%d of %d machines are available", available, wanted)
		}
		return corev1.ConditionTrue, hyperv1.AsExpectedReason, ""
	}
	available := meta.FindStatusCondition(p.maker.Status.Conditions, "Available")
	switch {
	case available == nil:
		return corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason, "the MachineDeployment does not tell its state yet"
	case available.Status == metav1.ConditionTrue:
		return corev1.ConditionTrue, hyperv1.AsExpectedReason, available.Message
	}
	return corev1.ConditionStatus(available.Status), available.Reason, available.Message
}

// remediationBlocked is why the pool may not repair itself; nil when it may, or shall not.
func (r *Reconciler) remediationBlocked(ctx context.Context, p *pass) (*metav1.Condition, error) {
	if !p.np.Spec.Management.AutoRepair {
		return nil, nil
	}
	check := clusterapi.New(clusterapi.MachineHealthCheck, p.namespace, p.np.Name)
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(check), check); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	decoded, err := observed.Decode[capiv1.MachineHealthCheck](check)
	if err != nil {
		return nil, err
	}
	allowed := meta.FindStatusCondition(decoded.Status.Conditions, "RemediationAllowed")
	if allowed == nil || allowed.Status != metav1.ConditionFalse {
		return nil, nil
	}
	return allowed, nil
}

// tellDeletion says what a deletion waits for, with the words of whoever holds it up.
func (r *Reconciler) tellDeletion(ctx context.Context, p *pass) error {
	before := p.np.DeepCopy()
	if err := r.readMachines(ctx, p); err != nil {
		return errors.Join(err, r.patchStatus(ctx, before, p.np))
	}
	if len(p.machines) > 0 {
		p.aggregate(hyperv1.NodePoolAllMachinesReady, "ready", readinessProblem)
		p.aggregate(hyperv1.NodePoolAllNodesHealthy, "healthy", healthProblem)
	}
	p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.DeletingMachinesReason,
		fmt.Sprintf("the node pool is being deleted and waits for %d machines; condition %s says what each of them waits for", len(p.machines), hyperv1.NodePoolAllMachinesReady))
	return r.patchStatus(ctx, before, p.np)
}

// machineHealthCheck replaces nodes that stay unhealthy; it starts when the first machine has been reached by ignition, so that a
// configuration that never boots does not make machines without end.
func (r *Reconciler) machineHealthCheck(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolAutorepairEnabled
	if !p.np.Spec.Management.AutoRepair {
		if p.status(condition) != corev1.ConditionFalse {
			if err := kube.DeleteIfExists(ctx, r.client, clusterapi.New(clusterapi.MachineHealthCheck, p.namespace, p.np.Name)); err != nil {
				return err
			}
		}
		p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
		return nil
	}
	if p.status(hyperv1.NodePoolReachedIgnitionEndpoint) != corev1.ConditionTrue {
		return nil
	}
	if err := r.apply(ctx, repair.HealthCheck(ctx, p.hc, p.np, p.namespace)); err != nil {
		return err
	}
	p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	return nil
}
