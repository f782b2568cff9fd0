package hostedcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/inputs"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
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
		Client:  steps.Recording(mgr.GetClient()),
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder(controllerName),
		keeper:  kube.Keeper{Trust: true},
	}
	// A status patch of our own must not start the next pass.
	meaningful := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	build := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&hyperv1.HostedCluster{}, builder.WithPredicates(meaningful)).
		Watches(&hyperv1.HostedControlPlane{}, handler.EnqueueRequestsFromMapFunc(byAnnotation)).
		Watches(&hyperv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(byNodePool), builder.WithPredicates(goneOrNew)).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(byAnnotation), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.byNamespace), builder.WithPredicates(named(contract.IgnitionServer))).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.byNamespace),
			builder.WithPredicates(predicate.Or(named(contract.APIServer), named(contract.ControlPlaneOperator)), countChanged)).
		Watches(&appsv1.StatefulSet{}, handler.EnqueueRequestsFromMapFunc(r.byNamespace), builder.WithPredicates(named(contract.Etcd), countChanged)).
		Watches(clusterapi.New(clusterapi.Cluster, "", ""), handler.EnqueueRequestsFromMapFunc(byAnnotation), builder.WithPredicates(gone)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(byAnnotation)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byObject(inputs.SecretKind))).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.byObject(inputs.ConfigMapKind))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackOff, lastBackOff),
		})
	for _, child := range []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}, &networkingv1.NetworkPolicy{},
	} {
		build = build.Watches(child, handler.EnqueueRequestsFromMapFunc(byAnnotation), builder.WithPredicates(gone))
	}
	if options.Capabilities.Routes {
		route := &unstructured.Unstructured{}
		route.SetGroupVersionKind(publish.RouteKind)
		build = build.Watches(route, handler.EnqueueRequestsFromMapFunc(r.byNamespace))
	}
	if options.Capabilities.EtcdBackups {
		build = build.Watches(&hyperv1.HCPEtcdBackup{}, handler.EnqueueRequestsFromMapFunc(r.byNamespace))
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

// countChanged passes what tells whether a workload serves, and no step of its rollouts.
var countChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return countsOf(e.ObjectOld) != countsOf(e.ObjectNew) }}

type counts struct{ ready, wanted int32 }

func countsOf(obj client.Object) counts {
	switch w := obj.(type) {
	case *appsv1.Deployment:
		return counts{w.Status.ReadyReplicas, ptr.Deref(w.Spec.Replicas, 1)}
	case *appsv1.StatefulSet:
		return counts{w.Status.ReadyReplicas, ptr.Deref(w.Spec.Replicas, 1)}
	}
	return counts{}
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

// byObject: our copies, what the control plane publishes, and what users refer to.
func (r *Reconciler) byObject(kind string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		if requests := byAnnotation(ctx, obj); requests != nil {
			return requests
		}
		if kind == inputs.SecretKind && obj.GetName() == contract.ServiceKubeconfig {
			return r.byNamespace(ctx, obj)
		}
		if kind == inputs.ConfigMapKind && obj.GetNamespace() == r.OperatorNamespace && slices.Contains(inputs.InstallationCopies, obj.GetName()) {
			return r.everyCluster(ctx)
		}
		if requests := byReferenceMark(obj); requests != nil {
			return requests
		}
		return r.byReference(ctx, kind, obj)
	}
}

// byReferenceMark follows the marks that a pass leaves on what its HostedCluster names.
func byReferenceMark(obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for key := range obj.GetAnnotations() {
		if cluster, ok := strings.CutPrefix(key, hyperv1.ReferencedResourcePrefix+"/"); ok {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: cluster}})
		}
	}
	return requests
}

// byReference finds who waits for an object that carries no mark yet: it was made after the HostedCluster that names it.
func (r *Reconciler) byReference(ctx context.Context, kind string, obj client.Object) []reconcile.Request {
	clusters := &hyperv1.HostedClusterList{}
	// Only read, so not copied.
	if err := r.List(ctx, clusters, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		if inputs.Named(&clusters.Items[i], kind, obj.GetName()) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
		}
	}
	return requests
}

func (r *Reconciler) everyCluster(ctx context.Context) []reconcile.Request {
	clusters := &hyperv1.HostedClusterList{}
	// Only read, so not copied.
	if err := r.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: clusters.Items[i].Namespace, Name: clusters.Items[i].Name}})
	}
	return requests
}
