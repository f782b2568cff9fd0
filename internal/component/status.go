package component

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

func condition(kind string, ok bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// liveWorkload returns the component's workload, nil when there is none.
func liveWorkload(ctx *Context, c Component) (client.Object, error) {
	key := client.ObjectKey{Namespace: ctx.Namespace(), Name: c.Name}
	for _, obj := range c.Runs.kinds() {
		err := ctx.Client.Get(ctx, key, obj)
		if err == nil {
			return obj, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read workload %s: %w", c.Name, err)
		}
	}
	return nil, nil
}

// Observe reads the component's conditions off its workload and writes nothing.
func Observe(ctx *Context, c Component) (Result, error) {
	result := Result{Name: c.Name, Absent: !c.exists(ctx)}
	return result, observe(ctx, c, &result)
}

// observe turns the workload's status into the component's conditions.
func observe(ctx *Context, c Component, result *Result) error {
	live, err := liveWorkload(ctx, c)
	if err != nil {
		return err
	}
	switch w := live.(type) {
	case *appsv1.Deployment:
		result.Available, result.Rollout = DeploymentConditions(w)
	case *appsv1.StatefulSet:
		result.Available, result.Rollout = StatefulSetConditions(w)
	case *batchv1.Job:
		result.Available, result.Rollout = JobConditions(w)
	case *batchv1.CronJob:
		// There is nothing to wait for: it runs when its time has come.
		result.Available = condition(hyperv1.ControlPlaneComponentAvailable, true, hyperv1.AsExpectedReason, "")
		result.Rollout = condition(hyperv1.ControlPlaneComponentRolloutComplete, true, hyperv1.AsExpectedReason, "")
	default:
		message := "the workload " + c.Name + " is not there yet"
		result.Available = condition(hyperv1.ControlPlaneComponentAvailable, false, hyperv1.NotFoundReason, message)
		result.Rollout = condition(hyperv1.ControlPlaneComponentRolloutComplete, false, hyperv1.NotFoundReason, message)
		return nil
	}
	// Kubernetes calls a Deployment without any pod available.
	if scaledDownForDebugging(ctx.HCP, c.Name) {
		result.Available = condition(hyperv1.ControlPlaneComponentAvailable, false, "ScaledDown",
			"annotation "+hyperv1.DebugDeploymentsAnnotation+" scales "+c.Name+" to zero")
	}
	// A cache that has not seen this pass's write yet shows the former version's rollout.
	if live.GetAnnotations()[AnnotationRelease] != ctx.Version {
		result.Rollout = condition(hyperv1.ControlPlaneComponentRolloutComplete, false, hyperv1.WaitingForRolloutCompleteReason,
			"the rollout of version "+ctx.Version+" has begun")
	}
	return observeOperands(ctx, c, result)
}

// DeploymentConditions reads Available and RolloutComplete off a Deployment.
func DeploymentConditions(d *appsv1.Deployment) (available, rollout metav1.Condition) {
	available = condition(hyperv1.ControlPlaneComponentAvailable, false, hyperv1.NotFoundReason,
		"Deployment "+d.Name+" has not reported whether it is available")
	for _, c := range d.Status.Conditions {
		if c.Type != appsv1.DeploymentAvailable {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			available = condition(hyperv1.ControlPlaneComponentAvailable, true, hyperv1.AsExpectedReason, "")
		} else {
			available = condition(hyperv1.ControlPlaneComponentAvailable, false, c.Reason, c.Message)
		}
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	done := s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want
	return available, rolloutCondition(d.Name, done, s.UpdatedReplicas, want)
}

// StatefulSetConditions reads Available (a quorum is ready) and RolloutComplete off a StatefulSet.
func StatefulSetConditions(w *appsv1.StatefulSet) (available, rollout metav1.Condition) {
	want := int32(1)
	if w.Spec.Replicas != nil {
		want = *w.Spec.Replicas
	}
	s := w.Status
	quorum := want/2 + 1
	available = condition(hyperv1.ControlPlaneComponentAvailable, true, hyperv1.AsExpectedReason, "")
	if s.ReadyReplicas < quorum {
		available = condition(hyperv1.ControlPlaneComponentAvailable, false, hyperv1.WaitingForAvailableReason,
			fmt.Sprintf("%d of %d replicas of %s are ready, %d needed", s.ReadyReplicas, want, w.Name, quorum))
	}
	// UpdatedReplicas counts from the revision being rolled to; before the first status it is zero.
	done := s.ObservedGeneration >= w.Generation && s.UpdatedReplicas == want && s.ReadyReplicas == want
	return available, rolloutCondition(w.Name, done, s.UpdatedReplicas, want)
}

func rolloutCondition(name string, done bool, updated, want int32) metav1.Condition {
	if done {
		return condition(hyperv1.ControlPlaneComponentRolloutComplete, true, hyperv1.AsExpectedReason, "")
	}
	return condition(hyperv1.ControlPlaneComponentRolloutComplete, false, hyperv1.WaitingForRolloutCompleteReason,
		fmt.Sprintf("%d of %d replicas of %s are updated and available", updated, want, name))
}

// record writes the ControlPlaneComponent, only when something changed.
func record(ctx *Context, c Component, result Result, objects []client.Object) error {
	entry := &hyperv1.ControlPlaneComponent{}
	err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: ctx.Namespace(), Name: c.Name}, entry)
	if apierrors.IsNotFound(err) {
		entry = &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: ctx.Namespace()}}
		Own(ctx.HCP, entry)
		err = ctx.Client.Create(ctx, entry)
		if apierrors.IsAlreadyExists(err) {
			// The cache is behind; its next event brings the pass that records.
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("record component %s: %w", c.Name, err)
	}
	before := entry.DeepCopy()
	for _, next := range []metav1.Condition{result.Available, result.Rollout} {
		next.ObservedGeneration = entry.Generation
		next.Reason, next.Message = reasonOf(next.Reason), kube.Shorten(next.Message, kube.MessageLimit)
		meta.SetStatusCondition(&entry.Status.Conditions, next)
	}
	entry.Status.ObservedGeneration = entry.Generation
	if result.Ready() {
		entry.Status.Version = ctx.Version
	}
	if len(objects) > 0 {
		resources, err := resourcesOf(ctx, objects)
		if err != nil {
			return fmt.Errorf("record component %s: %w", c.Name, err)
		}
		// What it no longer wants goes; a failure keeps it on record for the next pass.
		former := slices.DeleteFunc(slices.Clone(entry.Status.Resources), func(r hyperv1.ComponentResource) bool { return slices.Contains(resources, r) })
		if err := removeResources(ctx, c.Name, former); err != nil {
			return err
		}
		entry.Status.Resources = resources
	}
	if equality.Semantic.DeepEqual(before.Status, entry.Status) {
		return nil
	}
	if err := ctx.Client.Status().Patch(ctx, entry, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("record component %s: %w", c.Name, err)
	}
	return nil
}

// reasonOf keeps the API's rule that a reason is never empty and has no spaces.
func reasonOf(reason string) string {
	if reason == "" {
		return hyperv1.StatusUnknownReason
	}
	return strings.ReplaceAll(reason, " ", "")
}

func resourcesOf(ctx *Context, objects []client.Object) ([]hyperv1.ComponentResource, error) {
	var resources []hyperv1.ComponentResource
	for _, obj := range objects {
		kind, err := groupKindOf(ctx, obj)
		if err != nil {
			return nil, err
		}
		resources = append(resources, hyperv1.ComponentResource{Kind: kind.Kind, Group: kind.Group, Name: obj.GetName()})
	}
	return resources, nil
}
