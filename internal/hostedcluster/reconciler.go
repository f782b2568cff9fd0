// Package hostedcluster turns a HostedCluster into a control-plane namespace with a HostedControlPlane, the operators that run it,
// and the Cluster API objects its machines hang on; and turns what those report into the HostedCluster's status.
package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/dashboards"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/isolation"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/management"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/releases"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/status"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/teardown"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// behindPeriod is when to look again after the cache turned out to be behind.
const behindPeriod = time.Second

// refusedPeriod is when to look again whether the control plane's namespace is free.
const refusedPeriod = time.Minute

// deletedReason is that of the last event of a HostedCluster.
const deletedReason = "Deleted"

// Options of the controller.
type Options struct {
	Releases  releases.Options
	Operators operators.Options
	// Capabilities of the management cluster.
	Capabilities management.Capabilities
	// OperatorNamespace is where the installation's ConfigMaps are that control planes get copies of; empty means none.
	OperatorNamespace string
	// EgressBlockCIDRs are networks of IPv4 that a control plane's pods must not reach, beside the management cluster's own.
	EgressBlockCIDRs []string
	// ClusterMonitoring lets the management cluster's monitoring scrape control planes.
	ClusterMonitoring bool
	// Dashboards of hosted clusters.
	Dashboards dashboards.Options
	// Proxy is the way out of the management cluster for pods that need one.
	Proxy proxyenv.Proxy
	// MaxConcurrentUpgrades is how many control planes are upgraded at a time; 0 is as many as are asked for.
	MaxConcurrentUpgrades int
	// Now is the clock.
	Now func() time.Time
}

// Reconciler of HostedClusters.
type Reconciler struct {
	Options
	client.Client
	// Live reads past the cache.
	Live   client.Reader
	Events events.EventRecorder

	namespaces isolation.Namespaces
	networks   isolation.Networks
	turns      releases.Turns
	// keeper holds what is applied as it was applied.
	keeper kube.Keeper
}

// pass is one reconcile of one HostedCluster.
type pass struct {
	*cluster.Cluster
	r *Reconciler
	// refused says why the control plane's namespace is not this cluster's; nothing in it is read or written then.
	refused error
	// hcp is nil until it exists.
	hcp *hyperv1.HostedControlPlane
	learned
	// again is when to look again without an event; zero means never.
	again time.Duration
}

// Reconcile runs one pass:
//
//  1. read the HostedCluster and its HostedControlPlane;
//  2. when deleted: take everything down in order, then drop the finalizer;
//  3. else run the steps in order: a failed step stops what needs it and nothing else;
//  4. compute the status from what is there, and write it once if it changed.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	hc := &hyperv1.HostedCluster{}
	if err := r.Get(ctx, request.NamespacedName, hc); err != nil {
		buildPlan.Forget(request.String())
		teardown.Forget(request.String())
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p := r.newPass(hc)
	before := hc.DeepCopy()
	_, err := tenancy.Read(ctx, r.Client, r.Live, tenancy.Of(hc))
	switch {
	case tenancy.IsRefusal(err):
		p.refused = err
	case err != nil:
		return ctrl.Result{}, err
	default:
		if p.hcp, err = p.readControlPlane(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}
	switch {
	case !hc.DeletionTimestamp.IsZero():
		err = p.tearDown(ctx)
	case p.refused != nil:
		err = p.refuse(ctx)
	default:
		err = p.build(ctx)
	}
	writeErr := p.writeStatus(ctx, before)
	switch {
	case apierrors.IsConflict(writeErr):
		// The cache was behind. What changed need not be something that starts a pass.
		p.requeue(behindPeriod)
		writeErr = nil
	case apierrors.IsNotFound(writeErr):
		writeErr = nil
	}
	return ctrl.Result{RequeueAfter: p.again}, errors.Join(err, writeErr)
}

func (p *pass) readControlPlane(ctx context.Context) (*hyperv1.HostedControlPlane, error) {
	hcp := &hyperv1.HostedControlPlane{}
	err := p.Client.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, hcp)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read HostedControlPlane %s/%s: %w", p.Namespace, p.Name, err)
	}
	return hcp, nil
}

func (r *Reconciler) newPass(hc *hyperv1.HostedCluster) *pass {
	return &pass{r: r, Cluster: cluster.New(hc, cluster.Environment{Client: r.Client, Live: r.Live, Events: r.Events, Keeper: &r.keeper, Now: r.Now})}
}

func (p *pass) build(ctx context.Context) error {
	if err := identify(ctx, p.Cluster); err != nil {
		if apierrors.IsConflict(err) {
			p.requeue(behindPeriod)
			return nil
		}
		return fmt.Errorf("identify the cluster: %w", err)
	}
	paused, left := readPause(p.Cluster)
	p.requeue(left)
	var held string
	var err error
	if paused {
		err = handPauseDown(ctx, p.Cluster, p.hcp)
	} else {
		report := p.runSteps(ctx)
		err = report.Err()
		if id, holds := report.Holds(); holds != nil {
			held = fmt.Sprintf("Step %q: %v", id, holds)
		}
	}
	if p.hcp != nil {
		// Later steps wrote to it; the status is computed from what is stored.
		if hcp, readErr := p.readControlPlane(ctx); readErr == nil && hcp != nil {
			p.hcp = hcp
		}
	}
	err = errors.Join(err, p.observe(ctx))
	if _, told := p.Hosted.Annotations[hyperv1.HasBeenAvailableAnnotation]; !told && kube.IsTrue(p.Hosted.Status.Conditions, hyperv1.HostedClusterAvailable) {
		// The next pass writes it down.
		p.requeue(behindPeriod)
	}
	status.Reconciliation(p.Cluster, held, err)
	return err
}

// refuse tells why there is no control plane. Nothing tells when the namespace is free.
func (p *pass) refuse(ctx context.Context) error {
	if err := identify(ctx, p.Cluster); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("identify the cluster: %w", err)
	}
	p.requeue(refusedPeriod)
	readPause(p.Cluster)
	p.Conditions().False(hyperv1.ValidHostedClusterConfiguration, hyperv1.InvalidConfigurationReason, p.refused.Error())
	status.RepeatConditions(p.Cluster, nil, false)
	status.Reconciliation(p.Cluster, "", p.refused)
	return nil
}

func (p *pass) observe(ctx context.Context) error {
	again, err := status.Observe(ctx, p.Cluster, p.hcp, status.Facts{
		Release: p.found.Release, MissingImages: p.found.MissingImages, BlockedUpgrade: p.blockedUpgrade, Routes: p.r.Capabilities.Routes,
	})
	p.requeue(again)
	return err
}

// tearDown takes the next steps of the deletion, and lets go of the HostedCluster after the last.
func (p *pass) tearDown(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(p.Hosted, hyperv1.Finalizer) {
		return nil
	}
	deletion := &teardown.Deletion{Cluster: p.Cluster, Plane: p.hcp, Accounts: accounts(), Outside: outside(p.Cluster), Apart: p.refused != nil}
	progress, err := deletion.Run(ctx)
	p.requeue(progress.Again)
	if err != nil {
		status.Reconciliation(p.Cluster, "", err)
		return err
	}
	if progress.Waits() {
		status.RepeatConditions(p.Cluster, p.hcp, false)
		err := deletion.Report(ctx, progress)
		if p.refused == nil {
			again, examined := status.Examine(ctx, p.Cluster, p.hcp)
			p.requeue(again)
			err = errors.Join(err, examined)
		}
		status.Reconciliation(p.Cluster, "", err)
		return err
	}
	if p.refused == nil {
		p.Keeper.Forget(p.Namespace)
	}
	gone := "Everything of the hosted cluster is gone."
	if controllerutil.ContainsFinalizer(p.Hosted, hyperv1.DestroyFinalizer) {
		gone += " Its infrastructure in Azure is deleted next by the command that set finalizer " + hyperv1.DestroyFinalizer +
			": hypershift destroy cluster azure. If that was interrupted, run it again."
	}
	p.Event(corev1.EventTypeNormal, deletedReason, gone)
	return kube.RemoveFinalizer(ctx, p.Client, p.Hosted, hyperv1.Finalizer)
}

func (p *pass) writeStatus(ctx context.Context, before *hyperv1.HostedCluster) error {
	kube.KeepTransitions(before.Status.Conditions, p.Hosted.Status.Conditions)
	if equality.Semantic.DeepEqual(before.Status, p.Hosted.Status) {
		return nil
	}
	// Not a merge patch: that removes the nulls which version history and availableUpdates require.
	if err := p.Client.Status().Update(ctx, p.Hosted); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

func (p *pass) requeue(after time.Duration) {
	if after > 0 && (p.again == 0 || after < p.again) {
		p.again = after
	}
}
