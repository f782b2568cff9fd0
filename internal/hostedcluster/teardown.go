package hostedcluster

import (
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
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

const (
	teardownPoll = 2 * time.Second
	// endPoll is for what nobody watches.
	endPoll = 500 * time.Millisecond
	// endPollLimit is when what nobody watches has taken longer than it should.
	endPollLimit  = 10 * time.Second
	teardownGrace = 1
	// podLimit is how long past its grace a pod is left to its kubelet.
	podLimit = time.Minute
	// finalizerLimit is how long somebody else's finalizer is respected on an object that stands for nothing outside of the management
	// cluster. It is longer than the control plane's own limit for cleaning up in the cloud.
	finalizerLimit = 15 * time.Minute
	// unbornLimit is the same for a machine whose provider never had access: long enough to hear of an API server that just came up.
	unbornLimit = 2 * time.Minute

	deletedReason     = "Deleted"
	abandonedReason   = "FinalizerRemoved"
	skipNamespaceTrue = "true"
)

// teardownStep removes one thing. It says what it waits for, or nothing when the thing is gone.
type teardownStep struct {
	id steps.ID
	// reason of the condition while the step waits, and what a person can do when it takes long.
	reason, advice string
	run            func(*pass, context.Context) (string, error)
}

// teardownSteps in order: machines while the managers that delete them and the control plane they drain
// through still run.
var teardownSteps = []teardownStep{
	{id: "resume", run: (*pass).resumeForDeletion},
	{id: "node pools", reason: hyperv1.DeletingNodePoolsReason, run: (*pass).deleteNodePools,
		advice: "look at the conditions of the NodePools"},
	{id: "machines", reason: hyperv1.DeletingMachinesReason, run: (*pass).deleteMachines,
		advice: "look at the conditions of the Machines and AzureMachines in the control plane's namespace, and at the log of capi-provider"},
	{id: "dashboard", run: (*pass).deleteDashboard},
	{id: "control plane", reason: hyperv1.DeletingControlPlaneReason, run: (*pass).deleteControlPlane,
		advice: "look at the conditions of the HostedControlPlane and at the log of control-plane-operator"},
	{id: "pods", reason: hyperv1.DeletingPodsReason, run: (*pass).endPods,
		advice: "look for pods whose node is gone and for disks that cannot be detached"},
	{id: "namespace", reason: hyperv1.DeletingNamespaceReason, run: (*pass).deleteNamespace,
		advice: "look at the conditions of the namespace: they name what is left and whose finalizer holds it"},
	{id: "cluster-wide access", run: (*pass).deleteClusterAccess},
	{id: "marks of referenced objects", run: (*pass).unmarkReferenced},
	{id: "grace period", reason: hyperv1.WaitingForGracePeriodReason, run: (*pass).waitGracePeriod,
		advice: "remove annotation " + hyperv1.DestroyGracePeriodAnnotation + " to end it"},
}

var teardownPlan = steps.Chain("hostedcluster deletion", teardownChain()...)

func teardownChain() []steps.Step[*pass] {
	var chain []steps.Step[*pass]
	for _, s := range teardownSteps {
		chain = append(chain, steps.Step[*pass]{ID: s.id, Run: func(p *pass, ctx context.Context) error {
			waitingFor, err := s.run(p, ctx)
			if err == nil && waitingFor != "" {
				err = &steps.Waiting{For: waitingFor}
			}
			return err
		}})
	}
	return chain
}

func (p *pass) tearDown(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(p.hc, hyperv1.Finalizer) {
		return nil
	}
	report := teardownPlan.Run(ctx, p.hc.Namespace+"/"+p.hc.Name, p)
	if err := report.Err(); err != nil {
		err = fmt.Errorf("delete %w", err)
		p.setReconciliation(err)
		return err
	}
	var waiting *steps.Waiting
	if id, held := report.Holds(); errors.As(held, &waiting) {
		return p.waitForDeletion(ctx, id, waiting.For)
	}
	p.keeper.Forget(p.namespace)
	p.event(corev1.EventTypeNormal, deletedReason, "Everything of the hosted cluster is gone.")
	return kube.RemoveFinalizer(ctx, p.Client, p.hc, hyperv1.Finalizer)
}

// waitForDeletion reports the step that is under way.
func (p *pass) waitForDeletion(ctx context.Context, id steps.ID, waitingFor string) error {
	s := teardownSteps[slices.IndexFunc(teardownSteps, func(s teardownStep) bool { return s.id == id })]
	if p.again == 0 {
		p.requeue(teardownPoll)
	}
	p.observeConditions()
	refused, err := p.refusals(ctx, s)
	err = errors.Join(err, p.observeWorkloads(ctx))
	p.reportTeardown(s, waitingFor+refused)
	p.setReconciliation(err)
	return err
}

// refusals are Azure's own words, where a step waits for what is in Azure.
func (p *pass) refusals(ctx context.Context, s teardownStep) (string, error) {
	if s.reason != hyperv1.DeletingNodePoolsReason && s.reason != hyperv1.DeletingMachinesReason {
		return "", nil
	}
	refused, err := p.machineRefusals(ctx)
	if err != nil || refused == "" {
		return "", err
	}
	return ", whose deletion Azure refuses: " + refused, nil
}

// reportTeardown says what is waited for, since when, and what to do about it. The time of the condition is that at which this
// step began to wait.
func (p *pass) reportTeardown(s teardownStep, waitingFor string) {
	began, waits := p.waitsSince(s.reason)
	since := metav1.NewTime(began.Truncate(time.Second))
	status := metav1.ConditionFalse
	if s.reason == hyperv1.WaitingForGracePeriodReason {
		status = metav1.ConditionTrue
	}
	if !waits {
		p.conditions().Remove(hyperv1.HostedClusterDestroyed)
		p.event(corev1.EventTypeNormal, s.reason, "Deleting the hosted cluster: waiting for "+waitingFor+".")
	}
	message := fmt.Sprintf("Waiting since %s for %s. If this takes long, %s.", since.UTC().Format(time.RFC3339), waitingFor, s.advice)
	p.conditions().SetSince(since, hyperv1.HostedClusterDestroyed, status, s.reason, message)
}

// waitsSince is when a step began to wait: now, when it does not wait yet.
func (p *pass) waitsSince(reason string) (time.Time, bool) {
	if last := kube.Find(p.hc.Status.Conditions, hyperv1.HostedClusterDestroyed); last != nil && last.Reason == reason {
		return last.LastTransitionTime.Time, true
	}
	return p.Now(), false
}

// resumeForDeletion hands the deletion of a paused cluster down, and the user's wish to clean cloud resources up.
func (p *pass) resumeForDeletion(ctx context.Context) (string, error) {
	if err := p.setCAPIPaused(ctx, false); err != nil {
		return "", err
	}
	if p.hcp == nil {
		return "", nil
	}
	before := p.hcp.DeepCopy()
	p.hcp.Spec.PausedUntil = nil
	wish, wished := p.hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation]
	if wished {
		metav1.SetMetaDataAnnotation(&p.hcp.ObjectMeta, hyperv1.CleanupCloudResourcesAnnotation, wish)
	}
	if before.Spec.PausedUntil == nil && (!wished || before.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == wish) {
		return "", nil
	}
	return "", client.IgnoreNotFound(p.Patch(ctx, p.hcp, client.MergeFrom(before)))
}

func (p *pass) deleteNodePools(ctx context.Context) (string, error) {
	pools, err := p.nodePools(ctx)
	if err != nil {
		return "", err
	}
	var remaining []string
	for i := range pools {
		remaining = append(remaining, pools[i].Name)
		if pools[i].DeletionTimestamp.IsZero() {
			if err := kube.DeleteIfExists(ctx, p.Client, &pools[i]); err != nil {
				return "", err
			}
		}
	}
	if len(remaining) == 0 {
		return "", nil
	}
	// A list has no order that stays.
	slices.Sort(remaining)
	return "NodePools " + strings.Join(remaining, ", "), p.releaseUnborn(ctx)
}

// unmarkReferenced takes back the one thing that was written on the user's objects. They are read past the cache, which may not have
// seen the last mark.
func (p *pass) unmarkReferenced(ctx context.Context) (string, error) {
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	inside := client.InNamespace(p.hc.Namespace)
	if err := errors.Join(p.Live.List(ctx, secrets, inside), p.Live.List(ctx, configMaps, inside)); err != nil {
		return "", fmt.Errorf("list what the cluster may have referred to: %w", err)
	}
	var problems []error
	for i := range secrets.Items {
		problems = append(problems, p.unmark(ctx, &secrets.Items[i]))
	}
	for i := range configMaps.Items {
		problems = append(problems, p.unmark(ctx, &configMaps.Items[i]))
	}
	return "", errors.Join(problems...)
}

// unmark removes exactly one annotation, whatever the user does to the others meanwhile.
func (p *pass) unmark(ctx context.Context, obj client.Object) error {
	if _, marked := obj.GetAnnotations()[p.referenceKey()]; !marked {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, p.referenceKey())
	if err := p.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch))); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the mark off %s: %w", kube.Describe(obj), err)
	}
	return nil
}

// waitGracePeriod keeps the finished object visible for as long as the user asked.
func (p *pass) waitGracePeriod(context.Context) (string, error) {
	value, ok := p.hc.Annotations[hyperv1.DestroyGracePeriodAnnotation]
	if !ok {
		return "", nil
	}
	grace, err := time.ParseDuration(value)
	if err != nil {
		p.warn("InvalidGracePeriod", fmt.Sprintf("Annotation %s=%q is not a duration like 10m; it is ignored.", hyperv1.DestroyGracePeriodAnnotation, value))
		return "", nil
	}
	since, _ := p.waitsSince(hyperv1.WaitingForGracePeriodReason)
	remaining := since.Add(grace).Sub(p.Now())
	if remaining <= 0 {
		return "", nil
	}
	p.requeue(remaining)
	return "the end of the grace period of " + grace.String() + "; everything else is gone", nil
}
