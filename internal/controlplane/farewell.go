package controlplane

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/status"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/versionoperator"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// cleanupLimit is how long what the guest made in Azure may stay as it is before the control plane goes without it. It is shorter than
	// what the HostedCluster controller grants the control plane's finalizer.
	cleanupLimit = 10 * time.Minute
	// absentLimit is how long those who clean may be away.
	absentLimit = time.Minute
)

// farewell tells whether the control plane may go: at once, unless the user has asked that what the guest made in Azure goes first. Then
//
//  1. the version operator ends, which would make anew what is deleted (CVOScaledDown);
//  2. the config operator deletes it and tells how far it is (CloudResourcesDestroyed);
//  3. it is given up when nobody can do that, or when nothing has changed for cleanupLimit.
func (r *Reconciler) farewell(ctx context.Context, hcp *hyperv1.HostedControlPlane) (bool, error) {
	if hcp.Annotations[hyperv1.CleanupCloudResourcesAnnotation] != "true" || !hcp.Status.Initialized || cleaned(hcp) {
		return true, nil
	}
	before := hcp.DeepCopy()
	set := kube.Conditions(&hcp.Status.Conditions, hcp.Generation)
	down, err := r.endVersionOperator(ctx, hcp.Namespace)
	if err != nil {
		return false, err
	}
	if down {
		set.True(hyperv1.CVOScaledDown, hyperv1.AsExpectedReason, "")
	} else {
		set.False(hyperv1.CVOScaledDown, hyperv1.WaitingForRolloutCompleteReason, "the version operator still runs")
	}
	absent, err := r.absent(ctx, hcp.Namespace)
	if err != nil {
		return false, err
	}
	told := kube.Find(hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	switch {
	case absent != "":
		set.False(hyperv1.CloudResourcesDestroyed, hyperv1.CloudResourcesCleanupSkipped, absent)
	case told == nil:
		set.False(hyperv1.CloudResourcesDestroyed, hyperv1.RemainingCloudResourcesReason, "not looked at yet")
	case r.Now().Sub(r.unchangedSince(hcp)) > cleanupLimit:
		set.False(hyperv1.CloudResourcesDestroyed, hyperv1.CloudResourcesDeletionTimedOut, fmt.Sprintf("given up after %s: %s", cleanupLimit, told.Message))
	}
	return cleaned(hcp), status.Write(ctx, r.Client, before, hcp)
}

// cleaned tells whether nobody cleans any more.
func cleaned(hcp *hyperv1.HostedControlPlane) bool {
	c := kube.Find(hcp.Status.Conditions, hyperv1.CloudResourcesDestroyed)
	return c != nil && (c.Reason == hyperv1.CloudResourcesDestroyed || c.Reason == hyperv1.CloudResourcesCleanupSkipped || c.Reason == hyperv1.CloudResourcesDeletionTimedOut)
}

// unchangedSince is the last transition of the two conditions.
func (r *Reconciler) unchangedSince(hcp *hyperv1.HostedControlPlane) time.Time {
	last := hcp.DeletionTimestamp.Time
	for _, kind := range []hyperv1.ConditionType{hyperv1.CVOScaledDown, hyperv1.CloudResourcesDestroyed} {
		if c := kube.Find(hcp.Status.Conditions, kind); c != nil && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// endVersionOperator scales it down and tells whether it is; a payload of plain Kubernetes has none.
func (r *Reconciler) endVersionOperator(ctx context.Context, namespace string) (bool, error) {
	operator := &appsv1.Deployment{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: versionoperator.Name}, operator)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the version operator: %w", err)
	}
	if ptr.Deref(operator.Spec.Replicas, 1) != 0 {
		before := operator.DeepCopy()
		operator.Spec.Replicas = ptr.To[int32](0)
		if err := r.Client.Patch(ctx, operator, client.MergeFrom(before)); err != nil {
			return false, fmt.Errorf("end the version operator: %w", err)
		}
		return false, nil
	}
	return operator.Status.Replicas == 0, nil
}

// absent names a component that the clean-up needs and that does not run; it is empty when all of them run.
func (r *Reconciler) absent(ctx context.Context, namespace string) (string, error) {
	for name, reason := range map[string]string{contract.APIServer: "KubeAPIServerUnavailable", contract.ConfigOperator: "ConfigOperatorUnavailable"} {
		workload := &appsv1.Deployment{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, workload)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read Deployment %s: %w", name, err)
		}
		if err != nil || r.awayFor(workload) > absentLimit {
			return fmt.Sprintf("%s: without Deployment %s nobody can delete what the hosted cluster made in Azure; look into its resource group", reason, name), nil
		}
	}
	return "", nil
}

// awayFor is how long a workload has not been available.
func (r *Reconciler) awayFor(workload *appsv1.Deployment) time.Duration {
	for _, c := range workload.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable && c.Status != corev1.ConditionTrue {
			return r.Now().Sub(c.LastTransitionTime.Time)
		}
	}
	return 0
}
