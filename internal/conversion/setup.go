package conversion

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/conversion/wire"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// New makes the certificates' keeper; bootstrap it before the manager starts.
func New(namespace string) *Certificates {
	return &Certificates{Namespace: namespace, Now: time.Now, Policy: pki.DefaultPolicy(), serving: &atomic.Pointer[tls.Certificate]{}}
}

// CacheOptions make the cache hold this installation's definitions only, and without their schemas: those are megabytes.
func CacheOptions() cache.ByObject {
	return cache.ByObject{
		Label: labels.SelectorFromSet(labels.Set{wire.InstalledLabel: wire.InstalledValue}),
		Transform: func(obj any) (any, error) {
			if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
				crd.ManagedFields = nil
				for i := range crd.Spec.Versions {
					crd.Spec.Versions[i].Schema = nil
				}
			}
			return obj, nil
		},
	}
}

// SetupWithManager serves the webhook from the manager's server and keeps its certificates. The server must ask GetCertificate.
func (c *Certificates) SetupWithManager(ctx context.Context, mgr ctrl.Manager, webhook http.Handler) error {
	if err := c.bootstrap(ctx, mgr); err != nil {
		return fmt.Errorf("make the certificate of the conversion webhook: %w", err)
	}
	mgr.GetWebhookServer().Register(wire.Path, webhook)
	c.Client = mgr.GetClient()
	key := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: c.Namespace, Name: contract.ConversionCertificate}}}
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return key })
	ours := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetNamespace() == c.Namespace && (obj.GetName() == contract.ConversionCA || obj.GetName() == contract.ConversionCertificate)
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("conversion-certificates").
		Watches(&corev1.Secret{}, all, builder.WithPredicates(ours)).
		Watches(&apiextensionsv1.CustomResourceDefinition{}, all).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set the controller of the conversion webhook's certificates up: %w", err)
	}
	return mgr.AddReadyzCheck("conversion", c.Ready)
}

// bootstrap runs once past the caches: caches of kinds that are stored in another version fill by this very webhook.
func (c *Certificates) bootstrap(ctx context.Context, mgr ctrl.Manager) error {
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	c.Client = direct
	outrun := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, outrun, func() error {
		_, err := c.Reconcile(ctx, ctrl.Request{})
		return err
	})
}
