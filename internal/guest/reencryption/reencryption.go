// Package reencryption writes a guest's objects again when the key has changed that encrypts them.
package reencryption

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	migrationPage    = 500
	migrationWriters = 8
)

// migratedKinds are the resources that the guest's API server stores itself, of those that keys encrypt. The others are stored by
// OpenShift's API servers, which have no provider beside them: they stay in clear text.
var migratedKinds = map[string]metav1.TypeMeta{
	"secrets": {APIVersion: "v1", Kind: "Secret"}, "configmaps": {APIVersion: "v1", Kind: "ConfigMap"},
}

// reconciler writes everything again when a change of the encryption key has come so far that only the new key writes:
//
//  1. go on where the ConfigMap in the control-plane namespace says, or begin
//  2. a page at a time: names and versions are listed, and each object gets a patch that changes nothing; the API server then
//     stores it again, because what it has stored was not written with the first key
//  3. an object that was changed or deleted meanwhile needs nothing: whoever changed it wrote with the new key
type reconciler struct {
	// live reads past the cache, which knows only our own objects.
	live              client.Reader
	guest, management client.Client
	namespace         string
	page              int64
}

// Setup registers the controller; namespace is the control plane's.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string) error {
	r := &reconciler{
		live: manager.GetAPIReader(), guest: manager.GetClient(), management: management.GetClient(), namespace: namespace, page: migrationPage,
	}
	migrating := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		hcp, isPlane := obj.(*hyperv1.HostedControlPlane)
		return isPlane && encryption.Migration(hcp.Status.SecretEncryption) != ""
	})
	err := ctrl.NewControllerManagedBy(manager).Named("reencryption").
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &hyperv1.HostedControlPlane{}, plane.Once(), migrating)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the re-encryption controller: %w", err)
	}
	return nil
}

func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	hcp, err := plane.Find(ctx, r.management, r.namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	id := encryption.Migration(hcp.Status.SecretEncryption)
	if id == "" {
		return ctrl.Result{}, nil
	}
	report, err := encryption.ReadMigration(ctx, r.management, r.namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	if report.ID != id {
		report = encryption.Report{ID: id}
	}
	for !report.Done {
		if err := r.step(ctx, hcp, &report); err != nil {
			report.Problem = err.Error()
			if saveErr := r.save(ctx, hcp, report); saveErr != nil {
				return ctrl.Result{}, saveErr
			}
			return ctrl.Result{}, err
		}
		report.Problem = ""
		if err := r.save(ctx, hcp, report); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// step writes one page again and moves the report on.
func (r *reconciler) step(ctx context.Context, hcp *hyperv1.HostedControlPlane, report *encryption.Report) error {
	resources := slices.DeleteFunc(encryption.Resources(encryption.Keys(hcp.Status.SecretEncryption)), func(resource string) bool {
		return migratedKinds[resource].Kind == ""
	})
	at := max(slices.Index(resources, report.Resource), 0)
	list := &metav1.PartialObjectMetadataList{TypeMeta: migratedKinds[resources[at]]}
	list.Kind += "List"
	err := r.live.List(ctx, list, client.Limit(r.page), client.Continue(report.Continue))
	if apierrors.IsResourceExpired(err) {
		// The place is too old to go on from. What was written again before is only written once more.
		report.Continue = ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s of the hosted cluster: %w", resources[at], err)
	}
	if err := r.rewrite(ctx, resources[at], list.Items); err != nil {
		return err
	}
	report.Count += len(list.Items)
	report.Resource, report.Continue = resources[at], list.Continue
	if list.Continue != "" {
		return nil
	}
	if report.Done = at == len(resources)-1; !report.Done {
		report.Resource = resources[at+1]
	}
	return nil
}

func (r *reconciler) rewrite(ctx context.Context, resource string, items []metav1.PartialObjectMetadata) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(migrationWriters)
	for i := range items {
		obj := &items[i]
		obj.TypeMeta = migratedKinds[resource]
		group.Go(func() error {
			same, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": obj.UID, "resourceVersion": obj.ResourceVersion}})
			if err != nil {
				return fmt.Errorf("encode a patch: %w", err)
			}
			err = r.guest.Patch(ctx, obj, client.RawPatch(types.MergePatchType, same), client.FieldOwner(inside.FieldManager))
			if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return nil
			}
			return fmt.Errorf("%s %s/%s of the hosted cluster cannot be written again, and the former encryption key is kept for it: %w", resource, obj.Namespace, obj.Name, err)
		})
	}
	return group.Wait()
}

// save keeps the report where the control-plane-operator, and this operator after a restart, find it.
func (r *reconciler) save(ctx context.Context, hcp *hyperv1.HostedControlPlane, report encryption.Report) error {
	return kube.ApplyAlways(ctx, r.management, inside.FieldManager, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: encryption.MigrationConfigMap, Namespace: r.namespace, Annotations: map[string]string{
			hyperv1.HostedClusterAnnotation: hcp.Annotations[hyperv1.HostedClusterAnnotation]}},
		Data: report.Data(),
	})
}
