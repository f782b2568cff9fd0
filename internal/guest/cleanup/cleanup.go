// Package cleanup takes away what a guest has made in Azure, before its control plane goes: load balancers, disks, file shares, snapshots, the
// image registry's storage.
// It deletes the guest's objects; the controllers of the control plane, which still run, delete what belongs to them.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// lookAgain is how soon what remains is looked at again: what deletes it gives no event here.
	lookAgain = 2 * time.Second
	// After so many failures to reach the guest in a row, or for so long, nothing is cleaned.
	maxFailures    = 5
	failureTimeout = 5 * time.Minute
	// mostNames is how many objects of a kind the condition names.
	mostNames = 10
)

var snapshots = schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"}

// reconciler cleans once the control plane is being deleted with annotation cleanup-cloud-resources.
type reconciler struct {
	guest, management client.Client
	// live reads past the cache, which has our own objects only.
	live      client.Reader
	namespace string
	now       func() time.Time

	failures int
	failing  time.Time
}

// Setup registers the controller; namespace is the control plane's.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string) error {
	r := &reconciler{guest: manager.GetClient(), live: manager.GetAPIReader(), management: management.GetClient(), namespace: namespace, now: time.Now}
	err := ctrl.NewControllerManagedBy(manager).Named("cleanup").
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &hyperv1.HostedControlPlane{}, plane.Once())).Complete(r)
	if err != nil {
		return fmt.Errorf("set up the cleanup controller: %w", err)
	}
	return nil
}

// Reconcile takes one look:
//
//  1. nothing is asked for, or it is over: nothing to do;
//  2. the version operator still runs, which would make anew what is deleted: wait;
//  3. nothing new is let in, and everything that has something in Azure is deleted;
//  4. the condition says what is left.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	list := &hyperv1.HostedControlPlaneList{}
	if err := r.management.List(ctx, list, client.InNamespace(r.namespace)); err != nil || len(list.Items) != 1 {
		return ctrl.Result{}, err
	}
	hcp := &list.Items[0]
	if !plane.CleansUp(hcp) || over(hcp.Status.Conditions) || !kube.IsTrue(hcp.Status.Conditions, hyperv1.CVOScaledDown) {
		return ctrl.Result{}, nil
	}
	condition := r.clean(ctx)
	condition.Type, condition.ObservedGeneration = hyperv1.CloudResourcesDestroyed, hcp.Generation
	if err := plane.SetCondition(ctx, r.management, hcp, condition); err != nil {
		return ctrl.Result{}, err
	}
	if over([]metav1.Condition{condition}) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: lookAgain}, nil
}

// over tells whether nothing is cleaned any more: all is gone, or it was given up.
func over(conditions []metav1.Condition) bool {
	c := kube.Find(conditions, hyperv1.CloudResourcesDestroyed)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == hyperv1.CloudResourcesCleanupSkipped || c.Reason == hyperv1.CloudResourcesDeletionTimedOut)
}

// clean deletes what is there and says what is left.
func (r *reconciler) clean(ctx context.Context) metav1.Condition {
	left, retained, err := r.pass(ctx)
	if unreachable(err) {
		return r.countFailure(err)
	}
	r.failures = 0
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	kept := ""
	if len(retained) > 0 {
		kept = "these disks stay, because their volumes say Retain: " + names(retained)
	}
	switch {
	case err != nil:
		return no(hyperv1.CloudResourcesErrorReason, err.Error())
	case len(left) > 0:
		return no(hyperv1.RemainingCloudResourcesReason, strings.Join(left, ", "))
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.CloudResourcesDestroyed, Message: kept}
}

// unreachable is an error that says nothing of the guest's objects.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) || errors.Is(err, context.DeadlineExceeded)
}

// countFailure gives up when the guest cannot be reached for long.
func (r *reconciler) countFailure(err error) metav1.Condition {
	if r.failures == 0 {
		r.failing = r.now()
	}
	r.failures++
	reason, message := hyperv1.CloudResourcesErrorReason, "the hosted cluster's API server does not answer: "+err.Error()
	if r.failures >= maxFailures {
		reason, message = hyperv1.CloudResourcesCleanupSkipped, "MaxConnectionFailuresExceeded: "+message
	} else if r.now().Sub(r.failing) >= failureTimeout {
		reason, message = hyperv1.CloudResourcesCleanupSkipped, "ConnectionFailureTimeout: "+message
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// pass tries every kind, whatever comes of another.
func (r *reconciler) pass(ctx context.Context) (left, retained []string, err error) {
	if err := r.block(ctx); err != nil {
		return nil, nil, err
	}
	images, errImages := r.registry(ctx)
	routers, errRouters := r.every(ctx, ingressControllers, client.InNamespace(ingressNamespace))
	balancers, errBalancers := r.balancers(ctx)
	volumes, retained, errVolumes := r.volumes(ctx)
	copies, errCopies := r.every(ctx, snapshots)
	for _, kind := range []struct {
		name    string
		objects []string
	}{{"image-registry", images}, {"ingress-controllers", routers}, {"loadbalancers", balancers}, {"persistent-volumes", volumes}, {"volume-snapshots", copies}} {
		if len(kind.objects) > 0 {
			left = append(left, kind.name+" ("+names(kind.objects)+")")
		}
	}
	return left, retained, errors.Join(errImages, errRouters, errBalancers, errVolumes, errCopies)
}

func names(objects []string) string {
	slices.Sort(objects)
	if len(objects) > mostNames {
		return strings.Join(objects[:mostNames], ", ") + fmt.Sprintf(" and %d more", len(objects)-mostNames)
	}
	return strings.Join(objects, ", ")
}

// balancers deletes the Services with a load balancer, and names those that are left.
func (r *reconciler) balancers(ctx context.Context) ([]string, error) {
	list := &corev1.ServiceList{}
	if err := r.live.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	var left []string
	var problems []error
	for i := range list.Items {
		if s := &list.Items[i]; s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			left = append(left, s.Namespace+"/"+s.Name)
			problems = append(problems, r.remove(ctx, s))
		}
	}
	return left, errors.Join(problems...)
}

func (r *reconciler) remove(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := kube.DeleteIfExists(ctx, r.guest, obj, options...); err != nil {
		return fmt.Errorf("delete %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// volumes deletes all claims, with the pods that hold them: their machines are gone. What a volume says of its disk is done, and one that
// keeps it is left to the user at once.
func (r *reconciler) volumes(ctx context.Context) (left, retained []string, err error) {
	claims, pods, disks := &corev1.PersistentVolumeClaimList{}, &corev1.PodList{}, &corev1.PersistentVolumeList{}
	if err := errors.Join(r.live.List(ctx, claims), r.live.List(ctx, disks)); err != nil {
		return nil, nil, fmt.Errorf("list volumes: %w", err)
	}
	var problems []error
	if len(claims.Items) > 0 {
		if err := r.live.List(ctx, pods); err != nil {
			return nil, nil, fmt.Errorf("list pods: %w", err)
		}
	}
	for i := range claims.Items {
		problems = append(problems, r.remove(ctx, &claims.Items[i]))
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
			problems = append(problems, kube.DeleteIfExists(ctx, r.guest, pod, client.GracePeriodSeconds(0)))
		}
	}
	for _, disk := range disks.Items {
		if disk.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && disk.Spec.ClaimRef != nil {
			left = append(left, disk.Name)
		} else {
			retained = append(retained, describe(disk))
		}
	}
	return left, retained, errors.Join(problems...)
}

// describe names what a volume stands for.
func describe(disk corev1.PersistentVolume) string {
	if disk.Spec.CSI != nil {
		return disk.Name + " " + disk.Spec.CSI.VolumeHandle
	}
	return disk.Name
}

// every deletes all objects of a kind, and names those that are left; a guest that does not know the kind has none.
func (r *reconciler) every(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := r.live.List(ctx, list, options...)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list objects of kind %s: %w", kind.Kind, err)
	}
	var left []string
	var problems []error
	for i := range list.Items {
		left = append(left, list.Items[i].GetNamespace()+"/"+list.Items[i].GetName())
		problems = append(problems, r.remove(ctx, &list.Items[i]))
	}
	return left, errors.Join(problems...)
}
