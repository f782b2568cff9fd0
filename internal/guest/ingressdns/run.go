// Package ingressdns keeps the DNS records of a hosted cluster's applications: they lead to the load balancer of the default router.
// It is the component ingress-operator of payloads that bring no operator for that.
package ingressdns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

// Name of the subcommand, and of the component.
const Name = contract.IngressOperator

// Options configure the ingress operator. On the management side it needs the HostedControlPlane, its status and finalizers, and
// ConfigMap ingress-records; in the guest it reads one Service.
type Options struct {
	// Namespace is the control-plane namespace.
	Namespace string
	// Kubeconfig leads to the guest.
	Kubeconfig string
	// TokenFile holds the token that the ingress identity is federated with.
	TokenFile string
	// MetricsAddr is a plain listener ("0": none).
	MetricsAddr string
}

// AddFlags registers the flags of the subcommand.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "control-plane namespace")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the hosted cluster")
	flags.StringVar(&o.TokenFile, "token-file", component.CloudTokenFile, "token of the hosted cluster's service account")
	flags.StringVar(&o.MetricsAddr, "metrics-addr", ":60000", "address of the metrics listener, 0 for none")
}

// Run works until ctx ends.
func Run(ctx context.Context, options Options) error {
	if err := run(ctx, options); err != nil {
		return fmt.Errorf("%s: %w", Name, err)
	}
	return nil
}

func run(ctx context.Context, options Options) error {
	if options.Namespace == "" || options.Kubeconfig == "" {
		return errors.New("--namespace and --kubeconfig are both needed")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", options.Kubeconfig, err)
	}
	router := cache.ByObject{
		Namespaces: map[string]cache.Config{contract.RouterNamespace: {}},
		Field:      fields.OneTermEqualSelector("metadata.name", component.RouterName),
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: options.MetricsAddr},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Service{}: router}},
	})
	if err != nil {
		return fmt.Errorf("reach the hosted cluster: %w", err)
	}
	management, err := plane.Connect(scheme, options.Namespace)
	if err != nil {
		return err
	}
	if err := manager.Add(management); err != nil {
		return err
	}
	r := &reconciler{
		guest: manager.GetClient(), management: management.GetClient(), live: management.GetAPIReader(), namespace: options.Namespace,
		sets: sessionFor(options.TokenFile), now: time.Now, asserted: map[string]time.Time{},
	}
	if err := r.setup(manager, management); err != nil {
		return err
	}
	return manager.Start(ctx)
}

func (r *reconciler) setup(manager ctrl.Manager, management cluster.Cluster) error {
	once := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	return ctrl.NewControllerManagedBy(manager).Named(Name).
		Watches(&corev1.Service{}, once).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), &hyperv1.HostedControlPlane{}, once, changed())).
		Complete(r)
}

// changed passes what the records depend on, and the deletion; not the status, which this operator writes too.
func changed() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	})
}

func readToken(file string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the token of the hosted cluster: %w", err)
		}
		return string(text), nil
	}
}
