// Package resources holds the objects of a guest in place: it applies what changed, repairs, and deletes what is not wanted any more.
package resources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/observed"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// definitionWait is how soon kinds are looked for again that a definition has announced.
const definitionWait = time.Second

// managedKinds are what package addons makes; their metadata is watched, only of objects that carry our label.
//
//nolint:staticcheck // Endpoints: see package addons
func managedKinds() []client.Object {
	return []client.Object{
		&corev1.Namespace{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{},
		&corev1.Endpoints{},
		&apiextensionsv1.CustomResourceDefinition{}, &discoveryv1.EndpointSlice{}, &appsv1.DaemonSet{}, &appsv1.Deployment{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{},
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &networkingv1.IngressClass{},
		&storagev1.CSIDriver{}, &storagev1.StorageClass{},
	}
}

// ManagedObjects are what the cache of a manager of the guest holds of each kind: objects with our label only.
func ManagedObjects() map[client.Object]cache.ByObject {
	ours := labels.SelectorFromSet(labels.Set{hyperv1.ManagedByLabel: inside.ManagedBy})
	out := map[client.Object]cache.ByObject{}
	for _, kind := range managedKinds() {
		out[kind] = cache.ByObject{Label: ours}
		if _, everybodys := kind.(*admissionregistrationv1.MutatingWebhookConfiguration); everybodys {
			out[kind] = cache.ByObject{} // package webhooks looks at those of others
		}
	}
	return out
}

// applied is what an object looked like after it was written: as long as both hold, nothing has to be done.
type applied struct{ desired, live string }

// reconciler holds the objects of the guest in place:
//  1. read the facts: hosted control plane, payload, tunnel credentials
//  2. apply every object whose desired state changed or that somebody changed in the guest
//  3. report the outcome in ConfigOperatorReconciliationSucceeded
type reconciler struct {
	guest, management client.Client
	namespace         string
	read              inside.ReadFacts
	observed          observed.Copier
	// applied is only touched by the one worker.
	applied map[string]applied
	// cache, controller and whenServed serve the kinds that a new guest does not have yet; watching: they are served, and watched.
	cache      cache.Cache
	controller controller.Controller
	whenServed func() error
	watching   bool
	watched    map[schema.GroupVersionKind]bool
}

// Setup registers the controller; namespace is the control plane's. whenServed runs once, when the guest serves the kinds
// of its configuration.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string, facts inside.ReadFacts, whenServed func() error) error {
	r := &reconciler{
		guest: manager.GetClient(), management: management.GetClient(), namespace: namespace, read: facts, whenServed: whenServed, applied: map[string]applied{},
		watched:  map[schema.GroupVersionKind]bool{},
		observed: observed.Copier{Guest: manager.GetAPIReader(), Management: management.GetClient(), Namespace: namespace},
	}
	once := plane.Once()
	secrets, err := plane.Secrets(manager, management, namespace, inside.SourceSecrets)
	if err != nil {
		return err
	}
	isSource := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return inside.SourceConfigMaps[obj.GetName()] || obj.GetLabels()[contract.KubeletConfigLabel] != ""
	})
	isAggregated := predicate.NewPredicateFuncs(func(obj client.Object) bool { return slices.Contains(inside.SourceServices, obj.GetName()) })
	build := ctrl.NewControllerManagedBy(manager).Named("resources").
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &hyperv1.HostedControlPlane{}, once,
			predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &corev1.ConfigMap{}, once, isSource)).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &corev1.Service{}, once, isAggregated))
	for _, secret := range secrets {
		build = build.WatchesRawSource(source.Kind[client.Object](secret, &corev1.Secret{}, once))
	}
	for _, kind := range managedKinds() {
		build = build.WatchesMetadata(kind, once, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}, notWrittenByOthers))
	}
	r.cache = manager.GetCache()
	if r.controller, err = build.Build(r); err != nil {
		return fmt.Errorf("set up the resources controller: %w", err)
	}
	return nil
}

func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	hcp, err := plane.Find(ctx, r.management, r.namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	if plane.CleansUp(hcp) {
		return ctrl.Result{}, nil
	}
	served, applyErr := r.applyAll(ctx, hcp)
	condition := metav1.Condition{
		Type: hyperv1.ConfigOperatorReconcileSucceeded, Status: metav1.ConditionTrue, Reason: hyperv1.ReconcileSucceededReason,
		ObservedGeneration: hcp.Generation,
	}
	if applyErr != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, hyperv1.ReconcileFailedReason, applyErr.Error()
	}
	if err := errors.Join(applyErr, plane.SetCondition(ctx, r.management, hcp, condition)); err != nil {
		return ctrl.Result{}, err
	}
	if !served {
		return ctrl.Result{RequeueAfter: definitionWait}, nil
	}
	return ctrl.Result{RequeueAfter: plane.Resync}, nil
}

// applyAll tells whether the guest serves the kinds of its configuration.
func (r *reconciler) applyAll(ctx context.Context, hcp *hyperv1.HostedControlPlane) (bool, error) {
	facts, err := r.read(ctx, hcp)
	if err != nil {
		return false, err
	}
	var failed []error
	for _, obj := range addons.Objects(facts) {
		if err := r.ensure(ctx, obj); err != nil {
			failed = append(failed, err)
		}
	}
	failed = append(failed, r.noteHash(ctx, facts), r.observed.Copy(ctx, facts), r.dropFormer(ctx, facts))
	served, err := r.configure(ctx, facts)
	if err = errors.Join(append(failed, err)...); err == nil {
		err = r.prune(ctx, facts)
	}
	return served, errors.Join(err, facts.LeftOut)
}

// ensure applies an object unless it is as this process left it. After a restart every object is applied once, which changes nothing.
func (r *reconciler) ensure(ctx context.Context, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, r.guest.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %T: %w", obj, err)
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(gvk)
	err = r.guest.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s: %w", kube.Describe(obj), err)
	}
	if err != nil {
		return r.ensureFrom(ctx, obj, nil)
	}
	return r.ensureFrom(ctx, obj, live)
}

// ensureFrom is ensure with the object as it is, nil where there is none.
func (r *reconciler) ensureFrom(ctx context.Context, obj, live client.Object) error {
	desired, err := kube.ToApply(r.guest.Scheme(), obj)
	if err != nil {
		return err
	}
	if given, ok := obj.(*unstructured.Unstructured); ok && wholeKinds[desired.GroupVersionKind()] && given.Object["status"] != nil {
		desired.Object["status"] = runtime.DeepCopyJSONValue(given.Object["status"])
	}
	hash, err := hashOf(desired.Object)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kube.Describe(desired), err)
	}
	key := desired.GroupVersionKind().String() + "/" + desired.GetNamespace() + "/" + desired.GetName()
	if live != nil && r.applied[key] == (applied{hash, fingerprint(live)}) {
		return nil
	}
	if err := r.apply(ctx, desired); err != nil {
		return fmt.Errorf("apply %s: %w", kube.Describe(desired), err)
	}
	r.applied[key] = applied{hash, fingerprint(desired)}
	return nil
}

func hashOf(content any) (string, error) {
	encoded, err := json.Marshal(content)
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), err
}

// writtenByOthers are objects, by namespace and name, that the operator makes and others write into.
var writtenByOthers = map[client.ObjectKey]bool{
	{Namespace: inside.KubeSystem, Name: addons.ConnectionCheck}: true, {Namespace: contract.OpenShiftControllerManager, Name: addons.ServiceTrust}: true,
}

// notWrittenByOthers: what others write into their objects starts no pass.
var notWrittenByOthers = predicate.Funcs{UpdateFunc: func(change event.UpdateEvent) bool {
	return !writtenByOthers[client.ObjectKeyFromObject(change.ObjectNew)]
}}

// fingerprint changes with the specification: the status of a workload moves its resource version all the time.
func fingerprint(obj client.Object) string {
	if writtenByOthers[client.ObjectKeyFromObject(obj)] {
		return string(obj.GetUID())
	}
	if generation := obj.GetGeneration(); generation > 0 {
		return strconv.FormatInt(generation, 10)
	}
	return obj.GetResourceVersion()
}

// apply writes an object. What a StorageClass does cannot be changed, and no volume needs the class that it was made by: another takes
// its place.
func (r *reconciler) apply(ctx context.Context, desired *unstructured.Unstructured) error {
	write := func() error {
		return r.guest.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired), client.FieldOwner(inside.FieldManager), client.ForceOwnership)
	}
	given := desired.DeepCopy()
	err := write()
	if !apierrors.IsInvalid(err) || desired.GetKind() != "StorageClass" {
		return err
	}
	if err := kube.DeleteIfExists(ctx, r.guest, given.DeepCopy()); err != nil {
		return err
	}
	desired.Object = given.Object
	return write()
}
