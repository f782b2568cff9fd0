package nodepool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const defaultConcurrency = 10

// SetupWithManager registers the controller. The Cluster API kinds must be installed in the management cluster.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	r := newReconciler(mgr.GetClient(), mgr.GetAPIReader(), options)
	concurrency := options.Concurrency
	if concurrency == 0 {
		concurrency = defaultConcurrency
	}
	owned := handler.EnqueueRequestsFromMapFunc(byAnnotation)
	annotated := builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetAnnotations()[hyperv1.NodePoolAnnotation] != ""
	}))
	build := ctrl.NewControllerManagedBy(mgr).Named("nodepool").
		For(&hyperv1.NodePool{}).
		Watches(&hyperv1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(r.poolsOfCluster)).
		Watches(&corev1.Secret{}, owned, annotated).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.poolsOfNamespace), named(ignitionCASecret)).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.autoscaledPools), named(contract.ClusterAutoscaler)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.poolsOfConfigMap)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](500*time.Millisecond, 10*time.Second),
		})
	// Those of MachineDeployments have no target.
	build = build.Watches(clusterapi.New(clusterapi.MachineSet, "", ""), owned, builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetAnnotations()[hyperv1.NodePoolTargetConfigVersionAnnotation] != ""
	})))
	for _, gvk := range []schema.GroupVersionKind{clusterapi.MachineDeployment, clusterapi.Machine, clusterapi.MachineHealthCheck, clusterapi.AzureMachineTemplate} {
		build = build.Watches(clusterapi.New(gvk, "", ""), owned, annotated)
	}
	if err := build.Complete(r); err != nil {
		return fmt.Errorf("set up the node pool controller: %w", err)
	}
	return nil
}

func named(name string) builder.WatchesOption {
	return builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool { return obj.GetName() == name }))
}

// byAnnotation maps a child in the control-plane namespace to its pool.
func byAnnotation(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, found := strings.Cut(obj.GetAnnotations()[hyperv1.NodePoolAnnotation], "/")
	if !found {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func (r *Reconciler) poolsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.pools(ctx, obj.GetNamespace(), func(np *hyperv1.NodePool) bool { return np.Spec.ClusterName == obj.GetName() })
}

func (r *Reconciler) poolsOfNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.pools(ctx, metav1.NamespaceAll, func(np *hyperv1.NodePool) bool {
		return contract.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName) == obj.GetNamespace()
	})
}

// autoscaledPools are those that the autoscaler of the namespace may size.
func (r *Reconciler) autoscaledPools(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.pools(ctx, metav1.NamespaceAll, func(np *hyperv1.NodePool) bool {
		return np.Spec.AutoScaling != nil && contract.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName) == obj.GetNamespace()
	})
}

// poolsOfConfigMap maps the core configuration and cloud.conf to all pools of a cluster, what the node tuning operator says of a pool to that one,
// a user's configuration to those that name it.
func (r *Reconciler) poolsOfConfigMap(ctx context.Context, obj client.Object) []reconcile.Request {
	if obj.GetName() == cloudConfigMap || obj.GetLabels()[hyperv1.CoreIgnitionConfigLabel] == "true" {
		return r.poolsOfNamespace(ctx, obj)
	}
	if pool := obj.GetLabels()[hyperv1.NodePoolLabel]; pool != "" {
		return r.pools(ctx, metav1.NamespaceAll, func(np *hyperv1.NodePool) bool {
			return np.Name == pool && contract.ControlPlaneNamespace(np.Namespace, np.Spec.ClusterName) == obj.GetNamespace()
		})
	}
	return r.pools(ctx, obj.GetNamespace(), func(np *hyperv1.NodePool) bool {
		return slices.ContainsFunc(slices.Concat(np.Spec.Config, np.Spec.TuningConfig), func(ref corev1.LocalObjectReference) bool {
			return ref.Name == obj.GetName()
		})
	})
}

func (r *Reconciler) pools(ctx context.Context, namespace string, matches func(*hyperv1.NodePool) bool) []reconcile.Request {
	var list hyperv1.NodePoolList
	// Only read, so not copied: with many pools this is most of what an event costs.
	if err := r.client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list node pools")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if matches(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
