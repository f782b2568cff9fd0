// Package nodepool turns a NodePool into machines: it renders the pool's configuration, hands it to new machines by user data,
// and keeps the Cluster API objects that create, replace and repair them.
package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/asking"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// FieldManager owns what this controller applies.
const FieldManager = "hypershift-nodepool"

const (
	waitForCluster   = 30 * time.Second
	waitForMachines  = 5 * time.Second
	pendingDNSPeriod = 10 * time.Second
)

// Options configure the controller.
type Options struct {
	// Releases looks payloads up; nil means the registry.
	Releases release.Provider
	// Concurrency is how many pools are worked on at a time; zero means ten.
	Concurrency int
	// TechPreview tells that NodePools may carry technology previews.
	TechPreview bool
}

// Reconciler brings one NodePool to its desired state:
//  1. find the HostedCluster, which must not be on its way out, and become its child
//  2. when deleted: machines first, then secrets, then the finalizer
//  3. evaluate the conditions in their order; one may end the pass, except for those that tell how machines and nodes are
//  4. write token and user-data secrets
//  5. write machine template, MachineDeployment (of pools that are updated in place MachineSet) and MachineHealthCheck
//  6. advance version and "current" annotations when the rollout is complete
//  7. one patch of annotations and one of the status, each only when something changed
type Reconciler struct {
	client client.Client
	// live reads past the cache.
	live     client.Reader
	releases release.Provider
	now      func() time.Time
	newToken func() string
	resolve  func(ctx context.Context, host string) error
	// techPreview: NodePools may carry members that the API's types do not have.
	techPreview bool
	// ask asks Azure as the identity that makes machines; answers remembers what it said.
	ask     func(context.Context, asking.Question) error
	answers asking.Answers
	// readSizes reads the sizes of virtual machines of the identity's location; sizes remembers them.
	readSizes func(context.Context, asking.Identity) (map[string]azure.MachineSize, error)
	sizes     asking.Sizes
	// paces hold back what Nodes make a status say.
	paces kube.Paces
}

// pass is what one reconcile knows.
type pass struct {
	reconciler *Reconciler
	np         *hyperv1.NodePool
	hc         *hyperv1.HostedCluster
	// namespace is the control-plane namespace.
	namespace string

	release    *release.Release
	access     release.Access
	ignitionCA []byte
	config     *config
	template   string
	// floor is the least number of machines that the autoscaler may leave, known from step "capacity" on.
	floor int32
	// machine is what a machine of the pool has; nil where that is not known, or nobody needs it.
	machine *azure.MachineSize
	// maker is what makes the machines, nil while there is none.
	maker    *observed.Maker
	machines []capiv1.Machine
	// forOperator are the ConfigMaps by which the node tuning operator learns of the pool.
	forOperator []*corev1.ConfigMap
	// reports are what machines say that are no nodes yet, by the name of the virtual machine.
	reports map[string]machinereport.Report
	// cause is what Azure says of machines that are not accounted for, nil where it was not asked or refuses nothing.
	cause *problem
	// refused: the API server does not take the maker, and condition Ready says so.
	refused bool
	requeue time.Duration
	// began are the conditions that the pass found.
	began []hyperv1.NodePoolCondition
	// told is the condition that was set last.
	told hyperv1.NodePoolCondition
}

// again asks for another pass after a time, unless one comes sooner.
func (p *pass) again(after time.Duration) {
	if p.requeue == 0 || after < p.requeue {
		p.requeue = after
	}
}

// stop ends the pass because of the condition that was set last.
func (p *pass) stop() error {
	return &steps.Stopped{Because: fmt.Sprintf("condition %s is %s: %s", p.told.Type, p.told.Status, p.told.Message)}
}

func does(run func(*Reconciler, context.Context, *pass) error) func(*pass, context.Context) error {
	return func(p *pass, ctx context.Context) error { return run(p.reconciler, ctx, p) }
}

// The order is the contract: a condition that stops the pass freezes those after it, but not what health tells.
var plan = steps.Chain("nodepool", []steps.Step[*pass]{
	{ID: "autoscaling", Run: does((*Reconciler).autoscaling)},
	{ID: "update management", Run: does((*Reconciler).updateManagement)},
	{ID: "release image", Run: does((*Reconciler).releaseImage)},
	{ID: "ignition endpoint", Run: does((*Reconciler).ignitionEndpoint)},
	{ID: "architecture", Run: does((*Reconciler).archPlatform)},
	{ID: "pause", Run: does((*Reconciler).reconciliationActive)},
	{ID: "version skew", Run: does((*Reconciler).versionSkew)},
	{ID: "tuning", Run: does((*Reconciler).tuningConfig)},
	{ID: "machine config", Run: does((*Reconciler).machineConfig)},
	{ID: "updating config", Run: does((*Reconciler).updatingConfig)},
	{ID: "updating version", Run: does((*Reconciler).updatingVersion)},
	{ID: "generated payload", Run: does((*Reconciler).generatedPayload)},
	{ID: "ignition reached", Run: does((*Reconciler).reachedIgnition)},
	{ID: "network conflict", Run: does((*Reconciler).networkConflict)},
	{ID: "platform config", Run: does((*Reconciler).platformConfig)},
	{ID: "operating system", Run: does((*Reconciler).osImageStream)},
	{ID: "paused deployment", Run: does((*Reconciler).pausedDeployment)},
	{ID: "node tuning operator", Run: does((*Reconciler).tellOperator)},
	{ID: "secrets", Run: does((*Reconciler).secrets)},
	{ID: "machine template", Run: does((*Reconciler).machineTemplate)},
	{ID: "capacity", Run: does((*Reconciler).capacity)},
	{ID: "machine deployment", Run: does((*Reconciler).machineDeployment)},
	{ID: "machine health check", Run: does((*Reconciler).machineHealthCheck)},
	{ID: "rollout", Run: does((*Reconciler).rollout)},
	{ID: "sweep", Run: does((*Reconciler).sweep)},
}...)

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	np := &hyperv1.NodePool{}
	if err := r.client.Get(ctx, req.NamespacedName, np); err != nil {
		plan.Forget(req.String())
		r.paces.Forget(req.String())
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := np.DeepCopy()
	p := &pass{reconciler: r, np: np, began: before.Status.Conditions, namespace: contract.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName)}
	if !np.DeletionTimestamp.IsZero() {
		return r.delete(ctx, p)
	}
	if found, err := r.findCluster(ctx, p); err != nil || !found {
		return ctrl.Result{RequeueAfter: waitForCluster}, errors.Join(err, r.patchStatus(ctx, before, np))
	}
	if !p.hc.DeletionTimestamp.IsZero() {
		// The cluster deletes its pools. What were made for one now would outlive the managers that could delete it.
		return ctrl.Result{}, nil
	}
	if err := r.claim(ctx, p); err != nil {
		return ctrl.Result{RequeueAfter: waitForCluster}, errors.Join(reading(err), r.patchStatus(ctx, before, np))
	}
	if err := r.adopt(ctx, before, p); err != nil {
		return ctrl.Result{}, err
	}
	before = np.DeepCopy()
	errs := []error{r.run(ctx, p), r.patchAnnotations(ctx, before, np)}
	if !onlyGuestsWord(before, np) || r.paces.Allow(req.String()) {
		errs = append(errs, r.patchStatus(ctx, before, np))
	} else {
		p.again(kube.PaceInterval)
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: p.requeue}, nil
}

func (r *Reconciler) run(ctx context.Context, p *pass) error {
	if err := r.readMachines(ctx, p); err != nil {
		return err
	}
	report := plan.Run(ctx, client.ObjectKeyFromObject(p.np).String(), p)
	if after := report.Again(); after > 0 {
		p.again(after)
	}
	return errors.Join(report.Err(), r.health(ctx, p))
}

func (r *Reconciler) findCluster(ctx context.Context, p *pass) (bool, error) {
	hc := &hyperv1.HostedCluster{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: p.np.Namespace, Name: p.np.Spec.ClusterName}, hc)
	switch {
	case apierrors.IsNotFound(err):
		message := fmt.Sprintf("HostedCluster %q does not exist in namespace %q", p.np.Spec.ClusterName, p.np.Namespace)
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.NotFoundReason, message)
		return false, nil
	case err != nil:
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.FailedToGetReason, err.Error())
		return false, fmt.Errorf("read HostedCluster %q: %w", p.np.Spec.ClusterName, err)
	}
	p.hc = hc
	if ready := p.condition(hyperv1.NodePoolReady); ready.Reason == hyperv1.NotFoundReason || ready.Reason == hyperv1.FailedToGetReason {
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.WaitingForInfrastructureReason, "the other conditions tell how far the node pool is")
	}
	return true, nil
}

// claim makes sure that the namespace in which machines are made is that of the pool's cluster.
func (r *Reconciler) claim(ctx context.Context, p *pass) error {
	_, err := tenancy.Read(ctx, r.client, r.live, tenancy.Of(p.hc))
	if tenancy.IsRefusal(err) {
		p.set(hyperv1.NodePoolReady, corev1.ConditionFalse, hyperv1.NotFoundReason, "HostedCluster "+p.hc.Name+" has no control plane: "+err.Error())
	}
	return err
}

// reading is err where it is not a refusal, which a condition tells.
func reading(err error) error {
	if tenancy.IsRefusal(err) {
		return nil
	}
	return err
}

// adopt makes the cluster the owner and holds the pool until its machines are gone.
func (r *Reconciler) adopt(ctx context.Context, before *hyperv1.NodePool, p *pass) error {
	if err := controllerutil.SetOwnerReference(p.hc, p.np, r.client.Scheme()); err != nil {
		return fmt.Errorf("make HostedCluster %q the owner: %w", p.hc.Name, err)
	}
	controllerutil.AddFinalizer(p.np, hyperv1.Finalizer)
	if apiequality.Semantic.DeepEqual(before.ObjectMeta, p.np.ObjectMeta) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	status := p.np.Status
	if err := r.client.Patch(ctx, p.np, patch); err != nil {
		return fmt.Errorf("write owner and finalizer: %w", err)
	}
	p.np.Status = status
	return nil
}

func (r *Reconciler) patchAnnotations(ctx context.Context, before, np *hyperv1.NodePool) error {
	if apiequality.Semantic.DeepEqual(before.Annotations, np.Annotations) {
		return nil
	}
	target := before.DeepCopy()
	target.Annotations = np.Annotations
	if err := r.client.Patch(ctx, target, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write annotations of the node pool: %w", err)
	}
	return nil
}

// onlyGuestsWord tells whether of the status only that has changed in which Nodes have a say, which a guest can make as often as it likes.
func onlyGuestsWord(before, np *hyperv1.NodePool) bool {
	own := func(status hyperv1.NodePoolStatus) hyperv1.NodePoolStatus {
		status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c hyperv1.NodePoolCondition) bool {
			return slices.Contains(guestConditions, c.Type)
		})
		status.NodesInfo, status.Replicas = nil, 0
		return status
	}
	return !apiequality.Semantic.DeepEqual(before.Status, np.Status) && apiequality.Semantic.DeepEqual(own(before.Status), own(np.Status))
}

// guestConditions are those of a NodePool in which Nodes have a say.
var guestConditions = []string{hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy, hyperv1.NodePoolReady}

func (r *Reconciler) patchStatus(ctx context.Context, before, np *hyperv1.NodePool) error {
	if apiequality.Semantic.DeepEqual(before.Status, np.Status) {
		return nil
	}
	target := before.DeepCopy()
	target.Status = np.Status
	if err := r.client.Status().Patch(ctx, target, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status of the node pool: %w", err)
	}
	return nil
}

func newReconciler(c client.Client, live client.Reader, options Options) *Reconciler {
	releases := options.Releases
	if releases == nil {
		releases = release.NewProvider()
	}
	return &Reconciler{client: steps.Recording(c), live: live, releases: releases, now: time.Now, newToken: uuid.NewString, resolve: resolveHost,
		techPreview: options.TechPreview, ask: asking.Azure, readSizes: asking.ReadSizes}
}

// apply writes an object when its desired state changed.
func (r *Reconciler) apply(ctx context.Context, obj client.Object) error {
	return kube.Apply(ctx, r.client, FieldManager, obj)
}
