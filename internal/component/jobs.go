package component

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// annotationPods on a Job is the hash of the pods that it was made for: another one takes another Job.
const annotationPods = "component.hypershift.openshift.io/desired-pods"

// Shape of a component's workload.
type Shape string

// Shapes besides the usual one, of a Deployment or StatefulSet.
const (
	// Once is a Job. The component is there when it has completed; what it is to run changes: it is made anew.
	Once Shape = "Job"
	// Scheduled is a CronJob.
	Scheduled Shape = "CronJob"
)

// kinds that a workload of the shape can be of.
func (s Shape) kinds() []client.Object {
	switch s {
	case Once:
		return []client.Object{&batchv1.Job{}}
	case Scheduled:
		return []client.Object{&batchv1.CronJob{}}
	}
	return []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}}
}

// markJob remembers in a Job what its pods are to be; other workloads it leaves alone.
func markJob(workload client.Object, template *corev1.PodTemplateSpec) error {
	if _, ok := workload.(*batchv1.Job); !ok {
		return nil
	}
	text, err := json.Marshal(template)
	if err != nil {
		return fmt.Errorf("encode the pods of Job %s: %w", workload.GetName(), err)
	}
	sum := sha256.Sum256(text)
	annotations := workload.GetAnnotations()
	annotations[annotationPods] = hex.EncodeToString(sum[:8])
	workload.SetAnnotations(annotations)
	return nil
}

// endFormerJob deletes a Job with other pods than the desired ones, because Kubernetes changes the pods of no Job, and tells whether there is one.
func endFormerJob(ctx *Context, c Component, objects []client.Object) (bool, error) {
	if c.Runs != Once {
		return false, nil
	}
	wanted, err := c.workloadOf(objects)
	if err != nil {
		return false, err
	}
	live, err := liveWorkload(ctx, c)
	if err != nil || live == nil || live.GetAnnotations()[annotationPods] == wanted.GetAnnotations()[annotationPods] {
		return false, err
	}
	if live.GetDeletionTimestamp() != nil {
		return true, nil
	}
	if err := ctx.Client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("delete the former Job %s: %w", c.Name, err)
	}
	return true, nil
}

// JobConditions reads Available and RolloutComplete off a Job.
func JobConditions(job *batchv1.Job) (available, rollout metav1.Condition) {
	reason, message := hyperv1.WaitingForAvailableReason, "Job "+job.Name+" has not completed yet"
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return condition(hyperv1.ControlPlaneComponentAvailable, true, hyperv1.AsExpectedReason, ""),
				condition(hyperv1.ControlPlaneComponentRolloutComplete, true, hyperv1.AsExpectedReason, "")
		case batchv1.JobFailed:
			reason, message = c.Reason, "Job "+job.Name+" has failed and is not tried again, look at the logs of its pods: "+c.Message
		}
	}
	return condition(hyperv1.ControlPlaneComponentAvailable, false, reason, message),
		condition(hyperv1.ControlPlaneComponentRolloutComplete, false, reason, message)
}
