package nodepool

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// health tells how machines and nodes are. It is told in every pass: what is wrong with a payload or an endpoint says nothing about them, and
// they would seem to be as they were before.
func (r *Reconciler) health(ctx context.Context, p *pass) error {
	if p.np.Spec.Platform.Type == hyperv1.NonePlatform {
		return nil
	}
	machinesErr := r.machinesReady(ctx, p)
	p.aggregate(hyperv1.NodePoolAllNodesHealthy, "healthy", healthProblem)
	return errors.Join(machinesErr, r.ready(ctx, p))
}

// ready copies the health of the MachineDeployment, or says why it may not repair itself.
func (r *Reconciler) ready(ctx context.Context, p *pass) error {
	if p.refused {
		return nil
	}
	if p.deployment == nil {
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason,
			"there is no MachineDeployment yet; the other conditions tell how far the node pool is")
		return nil
	}
	status, reason, message := corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason, "the MachineDeployment does not tell its state yet"
	if available := meta.FindStatusCondition(p.deployment.Status.Conditions, "Available"); available != nil {
		status, reason, message = corev1.ConditionStatus(available.Status), available.Reason, available.Message
		if available.Status == metav1.ConditionTrue {
			reason = hyperv1.AsExpectedReason
		}
	}
	blocked, err := r.remediationBlocked(ctx, p)
	if err != nil {
		return err
	}
	if blocked != nil {
		status, reason, message = corev1.ConditionFalse, blocked.Reason, blocked.Message
	}
	p.set(hyperv1.NodePoolReady, status, reason, message)
	return nil
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
	decoded, err := decode[capiv1.MachineHealthCheck](check)
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
