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

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	transitions "github.com/hypershift-on-azure/hypershift/internal/events"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// behindPeriod is when to look again after the cache turned out to be behind.
const behindPeriod = time.Second

// Capabilities are the optional APIs of the management cluster; a missing one switches behaviour off.
type Capabilities struct {
	// Routes: route.openshift.io is served, so services can be published by Route.
	Routes bool
	// OpenShiftDNS: name servers are pods of namespace openshift-dns.
	OpenShiftDNS bool
	// SecurityContextConstraints: the cluster chooses the user id of pods; without it this operator does.
	SecurityContextConstraints bool
}

// Options of the controller.
type Options struct {
	Releases release.Provider
	// Labels reads what the images of control-plane operators tell about themselves.
	Labels release.Labeler
	// Mirrors of image repositories that the management cluster knows; nil means none.
	Mirrors *Mirrors
	// RegistryOverrides is the operator's flag, for the control planes' own operators.
	RegistryOverrides string
	Capabilities      Capabilities
	// OperatorImage is this operator's own image: it runs a control plane whose payload has no `hypershift` image.
	OperatorImage string
	// ControlPlaneOperatorImage, when set, replaces the payload's image for every cluster.
	ControlPlaneOperatorImage string
	// ClusterAPIImage and AzureProviderImage, when set, replace the payload's images for every cluster.
	ClusterAPIImage, AzureProviderImage string
	// KonnectivityImage, when set, replaces the payload's image of the tunnel's server.
	KonnectivityImage string
	// CertRotationScale compresses the lifetimes of the control planes' certificates: how long a day of them lasts.
	CertRotationScale string
	// MetricsSet is how much of the control planes' metrics is kept, unless the HostedCluster says otherwise.
	MetricsSet string
	// OperatorNamespace is where the installation's ConfigMaps are that control planes get copies of; empty means none.
	OperatorNamespace string
	// IngressDomain is the management cluster's domain for Routes without a hostname; empty leaves the choice to its router.
	IngressDomain string
	// EgressBlockCIDRs are networks of IPv4 that a control plane's router must not reach, beside the management cluster's own.
	EgressBlockCIDRs []string
	// ClusterMonitoring lets the management cluster's monitoring scrape control planes.
	ClusterMonitoring bool
	// Dashboards of hosted clusters.
	Dashboards Dashboards
	// Proxy is the way out of the management cluster for pods that need one.
	Proxy proxyenv.Proxy
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

	users     userIDs
	forbidden forbiddenNetworks
	// keeper holds what is applied as it was applied.
	keeper kube.Keeper
}

// pass is one reconcile of one HostedCluster: the steps read and extend it.
type pass struct {
	*Reconciler
	names
	hc *hyperv1.HostedCluster
	// hcp is nil until it exists.
	hcp        *hyperv1.HostedControlPlane
	pullSecret []byte
	// imageAccess is how images are read that the kubelet pulls as they are named: with the mirrors of the management cluster.
	imageAccess release.Access
	// mirrors are those of the management cluster, as release.FormatMirrors writes them.
	mirrors string
	// inputs are the user's objects that the HostedCluster names.
	inputs  []input
	release *release.Release
	// missingImages: the desired release lacks images, and ValidReleaseInfo says which.
	missingImages bool
	// helperImage is the image of the control-plane operator and of the helpers in pods.
	helperImage string
	// imageLabels are those of helperImage; nil where nothing asks for them.
	imageLabels map[string]string
	userID      *int64
	// blockedUpgrade says why the desired release is not rolled out; empty when it is.
	blockedUpgrade string
	// held says which step waits for something or for the user; empty when none does.
	held string
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
		teardownPlan.Forget(request.String())
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{Reconciler: r, hc: hc, names: namesOf(hc)}
	before := hc.DeepCopy()
	var err error
	if p.hcp, err = p.readControlPlane(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if !hc.DeletionTimestamp.IsZero() {
		err = p.tearDown(ctx)
	} else {
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
	err := p.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: p.cluster}, hcp)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read HostedControlPlane %s/%s: %w", p.namespace, p.cluster, err)
	}
	return hcp, nil
}

func (p *pass) build(ctx context.Context) error {
	if err := p.ensureMetadata(ctx); err != nil {
		if apierrors.IsConflict(err) {
			p.requeue(behindPeriod)
			return nil
		}
		return fmt.Errorf("identify the cluster: %w", err)
	}
	paused := p.pauseState()
	var err error
	if paused {
		err = p.pause(ctx)
	} else {
		report := p.runSteps(ctx)
		err = report.Err()
		if id, held := report.Holds(); held != nil {
			p.held = fmt.Sprintf("Step %q: %v", id, held)
		}
	}
	if p.hcp != nil {
		// Later steps wrote to it; the status is computed from what is stored.
		if hcp, readErr := p.readControlPlane(ctx); readErr == nil && hcp != nil {
			p.hcp = hcp
		}
	}
	err = errors.Join(err, p.observe(ctx))
	if _, told := p.hc.Annotations[hyperv1.HasBeenAvailableAnnotation]; !told && kube.IsTrue(p.hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		// The next pass writes it down.
		p.requeue(behindPeriod)
	}
	p.setReconciliation(err)
	return err
}

func (p *pass) writeStatus(ctx context.Context, before *hyperv1.HostedCluster) error {
	kube.KeepTransitions(before.Status.Conditions, p.hc.Status.Conditions)
	if equality.Semantic.DeepEqual(before.Status, p.hc.Status) {
		return nil
	}
	// Not a merge patch: that removes the nulls which version history and availableUpdates require.
	if err := p.Status().Update(ctx, p.hc); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

func (p *pass) requeue(after time.Duration) {
	if after > 0 && (p.again == 0 || after < p.again) {
		p.again = after
	}
}

func (p *pass) event(kind, reason, message string) {
	p.Events.Eventf(p.hc, nil, kind, reason, reason, "%s", transitions.Note(message))
}

func (p *pass) warn(reason, message string) { p.event(corev1.EventTypeWarning, reason, message) }
