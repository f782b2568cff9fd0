package hostedcluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	workers        = 10
	firstBackOff   = time.Second
	lastBackOff    = 10 * time.Second
	controllerName = "hostedcluster"
)

// SetupWithManager registers the controller.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	if options.Now == nil {
		options.Now = time.Now
	}
	r := &Reconciler{
		Options: options,
		Client:  mgr.GetClient(),
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder(controllerName),
	}
	// A status patch of our own must not start the next pass.
	meaningful := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	build := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&hyperv1.HostedCluster{}, builder.WithPredicates(meaningful)).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(byAnnotation)).
		Watches(&hyperv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(byNodePool), builder.WithPredicates(goneOrNew)).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(byAnnotation), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.byNamespace), builder.WithPredicates(named(ignitionServer))).
		Watches(newObject(clusterKind, "", "", nil), handler.EnqueueRequestsFromMapFunc(byAnnotation), builder.WithPredicates(gone)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(byAnnotation)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.bySecret)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.byConfigMap)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackOff, lastBackOff),
		})
	if options.Capabilities.Routes {
		route := &unstructured.Unstructured{}
		route.SetGroupVersionKind(routeKind)
		build = build.Watches(route, handler.EnqueueRequestsFromMapFunc(r.byNamespace))
	}
	if err := build.Complete(r); err != nil {
		return fmt.Errorf("set the %s controller up: %w", controllerName, err)
	}
	return nil
}

// goneOrNew passes what changes the set of node pools; their status is nothing to us.
var goneOrNew = predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})

// gone passes deletions only.
var gone = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

func named(name string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == name })
}

// byAnnotation follows the reference that every child carries.
func byAnnotation(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[hyperv1.HostedClusterAnnotation], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// byNamespace follows the reference of the namespace, for objects that others made in it.
func (r *Reconciler) byNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	namespace := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: obj.GetNamespace()}, namespace); err != nil {
		return nil
	}
	return byAnnotation(ctx, namespace)
}

func byNodePool(_ context.Context, obj client.Object) []reconcile.Request {
	pool, ok := obj.(*hyperv1.NodePool)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pool.Namespace, Name: pool.Spec.ClusterName}}}
}

// bySecret: our copies, what the control plane publishes, and what users refer to.
func (r *Reconciler) bySecret(ctx context.Context, obj client.Object) []reconcile.Request {
	if requests := byAnnotation(ctx, obj); requests != nil {
		return requests
	}
	if obj.GetName() == component.AdminKubeconfigSecret {
		return r.byNamespace(ctx, obj)
	}
	return r.byReference(ctx, obj.GetNamespace(), func(hc *hyperv1.HostedCluster) bool { return refersToSecret(hc, obj.GetName()) })
}

func (r *Reconciler) byConfigMap(ctx context.Context, obj client.Object) []reconcile.Request {
	if requests := byAnnotation(ctx, obj); requests != nil {
		return requests
	}
	return r.byReference(ctx, obj.GetNamespace(), func(hc *hyperv1.HostedCluster) bool {
		bundle := hc.Spec.AdditionalTrustBundle
		return bundle != nil && bundle.Name == obj.GetName()
	})
}

func (r *Reconciler) byReference(ctx context.Context, namespace string, refers func(*hyperv1.HostedCluster) bool) []reconcile.Request {
	clusters := &hyperv1.HostedClusterList{}
	if err := r.List(ctx, clusters, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		if refers(&clusters.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
		}
	}
	return requests
}

func refersToSecret(hc *hyperv1.HostedCluster, name string) bool {
	spec := hc.Spec
	if name == spec.PullSecret.Name || name == spec.SSHKey.Name {
		return true
	}
	references := []*corev1.LocalObjectReference{spec.ServiceAccountSigningKey, spec.AuditWebhook}
	if encryption := spec.SecretEncryption; encryption != nil && encryption.AESCBC != nil {
		references = append(references, &encryption.AESCBC.ActiveKey, encryption.AESCBC.BackupKey)
	}
	for _, reference := range references {
		if reference != nil && reference.Name == name {
			return true
		}
	}
	return false
}
