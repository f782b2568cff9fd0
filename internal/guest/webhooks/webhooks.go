// Package webhooks removes webhook configurations of a guest that call its control plane.
package webhooks

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// reconciler removes configurations whose webhook is a Service of the control plane: the API server calls URLs from there, and
// nobody in the guest has to reach what is beside it.
type reconciler struct {
	guest, management client.Client
	namespace         string
	events            events.EventRecorder
	// empty makes a configuration of the kind, targets tells whom its webhooks call.
	empty   func() client.Object
	targets func(client.Object) []admissionregistrationv1.WebhookClientConfig
}

// Setup registers the two controllers, one for each kind of webhook configuration; namespace is the control plane's.
func Setup(manager ctrl.Manager, management cluster.Cluster, namespace string) error {
	for name, kind := range map[string]reconciler{
		"validating-webhook": {
			empty: func() client.Object { return &admissionregistrationv1.ValidatingWebhookConfiguration{} },
			targets: func(obj client.Object) (out []admissionregistrationv1.WebhookClientConfig) {
				for _, webhook := range obj.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks {
					out = append(out, webhook.ClientConfig)
				}
				return out
			},
		},
		"mutating-webhook": {
			empty: func() client.Object { return &admissionregistrationv1.MutatingWebhookConfiguration{} },
			targets: func(obj client.Object) (out []admissionregistrationv1.WebhookClientConfig) {
				for _, webhook := range obj.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks {
					out = append(out, webhook.ClientConfig)
				}
				return out
			},
		},
	} {
		kind.guest, kind.management, kind.namespace = manager.GetClient(), management.GetClient(), namespace
		kind.events = manager.GetEventRecorder(inside.FieldManager)
		if err := ctrl.NewControllerManagedBy(manager).Named(name).For(kind.empty()).Complete(&kind); err != nil {
			return fmt.Errorf("set up the %s controller: %w", name, err)
		}
	}
	return nil
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	configuration := r.empty()
	if err := r.guest.Get(ctx, req.NamespacedName, configuration); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var services corev1.ServiceList
	if err := r.management.List(ctx, &services, client.InNamespace(r.namespace)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the Services of the control plane: %w", err)
	}
	for _, target := range r.targets(configuration) {
		if target.URL == nil || !callsControlPlane(*target.URL, r.namespace, services.Items) {
			continue
		}
		r.events.Eventf(configuration, nil, corev1.EventTypeWarning, "WebhookDisallowed", "Delete",
			"a webhook calls %s, which is a Service of this cluster's control plane: the configuration is removed; webhooks are Services of this cluster or servers outside", *target.URL)
		ctrl.LoggerFrom(ctx).Info("remove a webhook configuration that calls the control plane", "name", req.Name, "url", *target.URL)
		return ctrl.Result{}, kube.DeleteIfExists(ctx, r.guest, configuration)
	}
	return ctrl.Result{}, nil
}

// callsControlPlane: by address, or by a name that leads to a Service from within the namespace.
func callsControlPlane(target, namespace string, services []corev1.Service) bool {
	parsed, err := url.Parse(target)
	if err != nil {
		return false // the API server refuses such a URL
	}
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	host = strings.TrimSuffix(strings.TrimSuffix(host, ".cluster.local"), ".svc")
	if name, within := strings.CutSuffix(host, "."+namespace); within && !strings.Contains(name, ".") {
		return true
	}
	return slices.ContainsFunc(services, func(s corev1.Service) bool {
		return host == s.Name || host == s.Name+"."+namespace || slices.Contains(s.Spec.ClusterIPs, host)
	})
}
