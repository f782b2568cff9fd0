// Package controlplane is the controller of HostedControlPlane: from one object to the pods of a Kubernetes control plane.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/backups"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/credentials"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/endpoints"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/monitors"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

const (
	steadyPeriod = time.Minute
	// Everything that changes is watched; what is not an object, the answer of the load balancer, is asked for this often.
	waitingPeriod = time.Second
	behindPeriod  = 100 * time.Millisecond
	releaseLimit  = 2 * time.Minute
)

// Reconciler keeps the control planes of one namespace.
type Reconciler struct {
	Client   client.Client
	Releases release.Provider
	// Catalogs finds those of operators.
	Catalogs *catalog.Finder
	Settings component.Settings
	// ReleaseImage, when set, is the only release this process works on: an upgrade hands over from process to process.
	ReleaseImage string
	// IngressDomain is where the management cluster serves Routes; empty leaves the host names to its ingress.
	IngressDomain string
	Certificates  pki.Policy
	// Backups: the management cluster has HCPEtcdBackup, of which the control plane tells.
	Backups bool
	// MetricsSet is what monitors keep, unless the control plane says otherwise.
	MetricsSet monitor.Set
	Now        func() time.Time
	// Guest makes a client of the hosted API server out of a kubeconfig.
	Guest func(kubeconfig []byte) (client.Client, error)
	// Probe asks whether the published API server answers, and can be trusted by these authorities; nil means by HTTPS.
	Probe endpoints.Probe

	// OpenVault reaches a key of a key vault; nil asks none.
	OpenVault func(vault.Key, credentials.Assertion) (credentials.Vault, error)

	// SignIn takes on an identity with an assertion; nil tries none.
	SignIn func(context.Context, azure.Federation, credentials.Assertion) error

	granted grants
	vaults  credentials.Vaults
	signIns credentials.SignIns
	keeper  kube.Keeper
	pulse   pulse
}

// Setup registers the controller.
func (r *Reconciler) Setup(manager ctrl.Manager) error {
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{})
	b := ctrl.NewControllerManagedBy(manager).Named("hostedcontrolplane").
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(changed)).
		Owns(&appsv1.Deployment{}).
		Owns(&appsv1.StatefulSet{}).
		Owns(&batchv1.Job{}).
		Owns(&batchv1.CronJob{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.Secret{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// The records are written here alone: only one that goes matters.
		Owns(&hyperv1.ControlPlaneComponent{}, builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false },
			UpdateFunc: func(event.UpdateEvent) bool { return false },
		})).
		// The copies of what the user supplies are the HostedCluster controller's: they name their cluster, but have no owner here.
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(byCluster)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(byCluster)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), builder.WithPredicates(decisivePods)).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 10*time.Second),
		})
	_, err := manager.GetRESTMapper().RESTMapping(publish.RouteKind.GroupKind(), publish.RouteKind.Version)
	switch {
	case err == nil:
		route := &unstructured.Unstructured{}
		route.SetGroupVersionKind(publish.RouteKind)
		b = b.Owns(route)
	case !meta.IsNoMatchError(err):
		return fmt.Errorf("look for the Route API: %w", err)
	}
	monitored, err := monitors.Served(manager.GetRESTMapper())
	if err != nil {
		return err
	}
	if monitored {
		one := &unstructured.Unstructured{}
		one.SetGroupVersionKind(monitor.Kind)
		b = b.Owns(one)
	}
	if r.Backups, err = backups.Served(manager.GetRESTMapper()); err != nil {
		return err
	}
	if r.Backups {
		b = b.Watches(&hyperv1.HCPEtcdBackup{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("set up the HostedControlPlane controller: %w", err)
	}
	return nil
}

// byCluster follows the reference back to the HostedCluster, whose name the control plane shares.
func byCluster(_ context.Context, obj client.Object) []reconcile.Request {
	_, name, ok := strings.Cut(obj.GetAnnotations()[hyperv1.HostedClusterAnnotation], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}}}
}

// Reconcile leaves alone what another release's operator owns and what is paused, lets go of what is deleted, takes the steps of the
// plan, and writes one status from what they learned.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.pulse.begins(r.Now())
	result, err := r.once(ctx, request)
	r.pulse.ends(r.Now(), result, err)
	return result, err
}

func (r *Reconciler) once(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := r.Client.Get(ctx, request.NamespacedName, hcp); err != nil {
		plan.Forget(request.String())
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !hcp.DeletionTimestamp.IsZero() {
		if gone, err := r.farewell(ctx, hcp); err != nil || !gone {
			return ctrl.Result{RequeueAfter: waitingPeriod}, ignoreBehind(err)
		}
		// The objects go with the namespace, or by owner reference.
		if err := component.EndAtOnce(ctx, r.Client, hcp.Namespace, contract.APIServer); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, kube.RemoveFinalizer(ctx, r.Client, hcp, hyperv1.Finalizer)
	}
	if r.ReleaseImage != "" && r.ReleaseImage != managementRelease(hcp) {
		ctrl.LoggerFrom(ctx).Info("another release's operator owns this control plane", "release", managementRelease(hcp), "ours", r.ReleaseImage)
		return ctrl.Result{}, nil
	}
	if err := kube.AddFinalizer(ctx, r.Client, hcp, hyperv1.Finalizer); err != nil {
		return ctrl.Result{}, ignoreConflict(err)
	}
	// The HostedCluster tells of a value that cannot be read; it pauses nothing.
	if paused, left, _ := pause.Read(hcp.Spec.PausedUntil, r.Now()); paused {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return r.pass(ctx, hcp)
}

// pass takes the steps over one control plane, and tells when to look again.
func (r *Reconciler) pass(ctx context.Context, hcp *hyperv1.HostedControlPlane) (ctrl.Result, error) {
	p := newPass(r, hcp)
	err := p.run(ctx)
	if errors.Is(err, component.ErrBehind) {
		return ctrl.Result{RequeueAfter: behindPeriod}, nil
	}
	if statusErr := p.tell(ctx, err); statusErr != nil {
		err = errors.Join(err, statusErr)
	}
	switch {
	case errors.Is(err, component.ErrBehind) || apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: behindPeriod}, nil
	case err != nil:
		return ctrl.Result{}, err
	case hcp.Status.Ready && (p.vaults.Failed(hcp.UID) || p.signIns.Refused()):
		return ctrl.Result{RequeueAfter: credentials.RetryPeriod}, nil
	case hcp.Status.Ready:
		most := min(steadyPeriod, max(waitingPeriod, p.signIns.Left(r.Now(), steadyPeriod)))
		return ctrl.Result{RequeueAfter: p.keys.UntilRenewal(behindPeriod, most, p.endpoints)}, nil
	}
	return ctrl.Result{RequeueAfter: waitingPeriod}, nil
}

func ignoreBehind(err error) error {
	if errors.Is(err, component.ErrBehind) {
		return nil
	}
	return err
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// managementRelease is the release of what runs on the management side.
func managementRelease(hcp *hyperv1.HostedControlPlane) string {
	if image := hcp.Spec.ControlPlaneReleaseImage; image != nil && *image != "" {
		return *image
	}
	return hcp.Spec.ReleaseImage
}
