// Package teardown takes a hosted cluster down: step by step, and telling what it waits for.
package teardown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

const (
	poll = 2 * time.Second
	// endPoll is for what nobody watches.
	endPoll = 500 * time.Millisecond
	// endPollLimit is when what nobody watches has taken longer than it should.
	endPollLimit = 10 * time.Second
	podGrace     = 1
	// podLimit is how long past its grace a pod is left to its kubelet.
	podLimit = time.Minute
	// finalizerLimit is how long somebody else's finalizer is respected on an object that stands for nothing outside of the management
	// cluster. It is longer than the control plane's own limit for cleaning up in the cloud.
	finalizerLimit = 15 * time.Minute
	// unbornLimit is the same for a machine whose provider never had access: long enough to hear of an API server that just came up.
	unbornLimit = 2 * time.Minute

	abandonedReason   = "FinalizerRemoved"
	skipNamespaceTrue = "true"
)

// step removes one thing. It says what it waits for, or nothing when the thing is gone.
type step struct {
	id steps.ID
	// reason of the condition while the step waits, and what a person can do when it takes long.
	reason, advice string
	run            func(*Deletion, context.Context) (string, error)
	// outside is a step that touches nothing in the control plane's namespace.
	outside bool
}

// removals in order: machines while the managers that delete them and the control plane they drain
// through still run.
var removals = []step{
	{id: "resume", run: (*Deletion).resumeForDeletion},
	{id: "node pools", reason: hyperv1.DeletingNodePoolsReason, run: (*Deletion).deleteNodePools, outside: true,
		advice: "look at the conditions of the NodePools"},
	{id: "machines", reason: hyperv1.DeletingMachinesReason, run: (*Deletion).deleteMachines,
		advice: "look at the conditions of the Machines and AzureMachines in the control plane's namespace, and at the log of capi-provider"},
	{id: "dashboard", run: (*Deletion).deleteDashboard},
	{id: "control plane", reason: hyperv1.DeletingControlPlaneReason, run: (*Deletion).deleteControlPlane,
		advice: "look at the conditions of the HostedControlPlane and at the log of control-plane-operator"},
	{id: "pods", reason: hyperv1.DeletingPodsReason, run: (*Deletion).endPods,
		advice: "look for pods whose node is gone and for disks that cannot be detached"},
	{id: "namespace", reason: hyperv1.DeletingNamespaceReason, run: (*Deletion).deleteNamespace,
		advice: "look at the conditions of the namespace: they name what is left and whose finalizer holds it"},
	{id: "cluster-wide access", run: (*Deletion).deleteClusterAccess, outside: true},
	{id: "marks of referenced objects", run: (*Deletion).unmarkReferenced, outside: true},
	{id: "grace period", reason: hyperv1.WaitingForGracePeriodReason, run: (*Deletion).waitGracePeriod, outside: true,
		advice: "remove annotation " + hyperv1.DestroyGracePeriodAnnotation + " to end it"},
}

var plan = steps.Chain("hostedcluster deletion", chain()...)

func chain() []steps.Step[*Deletion] {
	var linked []steps.Step[*Deletion]
	for _, s := range removals {
		linked = append(linked, steps.Step[*Deletion]{ID: s.id, Run: func(d *Deletion, ctx context.Context) error {
			if d.Apart && !s.outside {
				return nil
			}
			waitingFor, err := s.run(d, ctx)
			if err == nil && waitingFor != "" {
				err = &steps.Waiting{For: waitingFor}
			}
			return err
		}})
	}
	return linked
}

// Deletion is one look at the deletion of a hosted cluster.
type Deletion struct {
	*cluster.Cluster
	// Plane is nil when it is gone, or never was.
	Plane *hyperv1.HostedControlPlane
	// Accounts are those whose rights outside of the namespace have to go, too.
	Accounts []workloads.Account
	// Outside are other objects outside of the namespace, in the order of their deletion.
	Outside []client.Object
	// Apart: the namespace that the cluster's name leads to is somebody else's. Nothing in it is looked at.
	Apart bool

	again time.Duration
}

// Progress of a deletion. The zero value means that nothing is left.
type Progress struct {
	step step
	// waitingFor is what is still there.
	waitingFor string
	// Again is when to look again without an event.
	Again time.Duration
}

// Waits tells whether something is still there.
func (p Progress) Waits() bool { return p.waitingFor != "" }

// Forget drops what is remembered of a hosted cluster that is gone; key is its namespace and name.
func Forget(key string) { plan.Forget(key) }

// Run takes the next steps of the deletion.
func (d *Deletion) Run(ctx context.Context) (Progress, error) {
	report := plan.Run(ctx, d.Reference(), d)
	if err := report.Err(); err != nil {
		return Progress{Again: d.again}, fmt.Errorf("delete %w", err)
	}
	var waiting *steps.Waiting
	id, held := report.Holds()
	if !errors.As(held, &waiting) {
		return Progress{Again: d.again}, nil
	}
	at := removals[slices.IndexFunc(removals, func(s step) bool { return s.id == id })]
	return Progress{step: at, waitingFor: waiting.For, Again: cmp.Or(d.again, poll)}, nil
}

func (d *Deletion) requeue(after time.Duration) {
	if after > 0 && (d.again == 0 || after < d.again) {
		d.again = after
	}
}

// Report tells in HostedClusterDestroyed what the deletion waits for, with Azure's own words where it waits for what is in Azure.
func (d *Deletion) Report(ctx context.Context, progress Progress) error {
	refused, err := d.refusals(ctx, progress.step)
	holds, holdErr := d.hindrances(ctx, progress.step, refused)
	d.report(progress.step, progress.waitingFor+refused, holds)
	return errors.Join(err, holdErr)
}

// refusals are Azure's own words, where a step waits for what is in Azure.
func (d *Deletion) refusals(ctx context.Context, s step) (string, error) {
	if d.Apart || s.reason != hyperv1.DeletingNodePoolsReason && s.reason != hyperv1.DeletingMachinesReason {
		return "", nil
	}
	refused, err := machineRefusals(ctx, d.Cluster)
	if err != nil || refused == "" {
		return "", err
	}
	return ", whose deletion Azure refuses: " + refused, nil
}

// report says what is waited for, since when, and what to do about it: what holds it up where that is known. The time of the condition is that at which this
// step began to wait.
func (d *Deletion) report(s step, waitingFor string, holds []string) {
	began, waits := d.waitsSince(s.reason)
	since := metav1.NewTime(began.Truncate(time.Second))
	status := metav1.ConditionFalse
	if s.reason == hyperv1.WaitingForGracePeriodReason {
		status = metav1.ConditionTrue
	}
	if !waits {
		d.Conditions().Remove(hyperv1.HostedClusterDestroyed)
		d.Event(corev1.EventTypeNormal, s.reason, "Deleting the hosted cluster: waiting for "+waitingFor+".")
	}
	advice := "If this takes long, " + s.advice + "."
	if len(holds) > 0 {
		advice = strings.Join(holds, " ")
	}
	message := fmt.Sprintf("Waiting since %s for %s. %s", since.UTC().Format(time.RFC3339), waitingFor, advice)
	d.Conditions().SetSince(since, hyperv1.HostedClusterDestroyed, status, s.reason, message)
}

// waitsSince is when a step began to wait: now, when it does not wait yet.
func (d *Deletion) waitsSince(reason string) (time.Time, bool) {
	if last := kube.Find(d.Hosted.Status.Conditions, hyperv1.HostedClusterDestroyed); last != nil && last.Reason == reason {
		return last.LastTransitionTime.Time, true
	}
	return d.Now(), false
}

// resumeForDeletion hands the deletion of a paused cluster down, and the user's wish to clean cloud resources up.
func (d *Deletion) resumeForDeletion(ctx context.Context) (string, error) {
	if err := machines.SetPaused(ctx, d.Cluster, false); err != nil {
		return "", err
	}
	if d.Plane == nil {
		return "", nil
	}
	before := d.Plane.DeepCopy()
	d.Plane.Spec.PausedUntil = nil
	wish, wished := d.Hosted.Annotations[hyperv1.CleanupCloudResourcesAnnotation]
	if wished {
		metav1.SetMetaDataAnnotation(&d.Plane.ObjectMeta, hyperv1.CleanupCloudResourcesAnnotation, wish)
	}
	if before.Spec.PausedUntil == nil && (!wished || before.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == wish) {
		return "", nil
	}
	return "", client.IgnoreNotFound(d.Client.Patch(ctx, d.Plane, client.MergeFrom(before)))
}

func (d *Deletion) deleteNodePools(ctx context.Context) (string, error) {
	pools, err := d.NodePools(ctx)
	if err != nil {
		return "", err
	}
	var remaining []string
	for i := range pools {
		remaining = append(remaining, pools[i].Name)
		if pools[i].DeletionTimestamp.IsZero() {
			if err := kube.DeleteIfExists(ctx, d.Client, &pools[i]); err != nil {
				return "", err
			}
		}
	}
	if len(remaining) == 0 {
		return "", nil
	}
	// A list has no order that stays.
	slices.Sort(remaining)
	if d.Apart {
		return "NodePools " + strings.Join(remaining, ", "), nil
	}
	return "NodePools " + strings.Join(remaining, ", "), d.releaseUnborn(ctx)
}

// unmarkReferenced takes back the one thing that was written on the user's objects. They are read past the cache, which may not have
// seen the last mark.
func (d *Deletion) unmarkReferenced(ctx context.Context) (string, error) {
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	inside := client.InNamespace(d.Hosted.Namespace)
	if err := errors.Join(d.Live.List(ctx, secrets, inside), d.Live.List(ctx, configMaps, inside)); err != nil {
		return "", fmt.Errorf("list what the cluster may have referred to: %w", err)
	}
	var problems []error
	for i := range secrets.Items {
		problems = append(problems, unmark(ctx, d.Cluster, &secrets.Items[i]))
	}
	for i := range configMaps.Items {
		problems = append(problems, unmark(ctx, d.Cluster, &configMaps.Items[i]))
	}
	return "", errors.Join(problems...)
}

// unmark removes exactly one annotation, whatever the user does to the others meanwhile.
func unmark(ctx context.Context, c *cluster.Cluster, obj client.Object) error {
	if _, marked := obj.GetAnnotations()[c.ReferenceKey()]; !marked {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, c.ReferenceKey())
	if err := c.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch))); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the mark off %s: %w", kube.Describe(obj), err)
	}
	return nil
}

// waitGracePeriod keeps the finished object visible for as long as the user asked.
func (d *Deletion) waitGracePeriod(context.Context) (string, error) {
	value, ok := d.Hosted.Annotations[hyperv1.DestroyGracePeriodAnnotation]
	if !ok {
		return "", nil
	}
	grace, err := time.ParseDuration(value)
	if err != nil {
		d.Event(corev1.EventTypeWarning, "InvalidGracePeriod", fmt.Sprintf("Annotation %s=%q is not a duration like 10m; it is ignored.", hyperv1.DestroyGracePeriodAnnotation, value))
		return "", nil
	}
	since, _ := d.waitsSince(hyperv1.WaitingForGracePeriodReason)
	remaining := since.Add(grace).Sub(d.Now())
	if remaining <= 0 {
		return "", nil
	}
	d.requeue(remaining)
	return "the end of the grace period of " + grace.String() + "; everything else is gone", nil
}
