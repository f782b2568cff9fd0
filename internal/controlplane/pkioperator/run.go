package pkioperator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const keepPeriod = time.Minute

// Options configure the program.
type Options struct {
	// Namespace is the control-plane namespace, Name the HostedControlPlane's.
	Namespace, Name string
	// MetricsAddr is a plain listener ("0": none).
	MetricsAddr string
}

// AddFlags registers the flags of the subcommand.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "control-plane namespace")
	flags.StringVar(&o.Name, "name", "", "name of the HostedControlPlane")
	flags.StringVar(&o.MetricsAddr, "metrics-addr", "0", "address of the metrics listener, 0 for none")
}

// Run works until ctx ends.
func Run(ctx context.Context, options Options) error {
	if options.Namespace == "" || options.Name == "" {
		return fmt.Errorf("%s: --namespace and --name are both needed", Name)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("%s: find the management cluster: %w", Name, err)
	}
	m, err := newManager(config, options)
	if err != nil {
		return fmt.Errorf("%s: %w", Name, err)
	}
	return m.Start(ctx)
}

// dayOf is how long a day of certificates lasts.
func dayOf(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	if text == "" {
		return day, nil
	}
	scale, err := time.ParseDuration(text)
	if err != nil || scale <= 0 || scale > day {
		return 0, fmt.Errorf("%s=%q is not a duration above 0 and up to 24h", contract.CertificateScaleEnv, text)
	}
	return scale, nil
}

func newManager(config *rest.Config, options Options) (manager.Manager, error) {
	day, err := dayOf(os.Getenv(contract.CertificateScaleEnv))
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: options.MetricsAddr},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{options.Namespace: {}},
			ByObject:          map[client.Object]cache.ByObject{&certificatesv1.CertificateSigningRequest{}: {}},
		},
		// What follows from a signer must follow from the one that is there.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true,
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Pod{}, &hyperv1.HostedControlPlane{}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("reach the management cluster: %w", err)
	}
	k := &keeper{client: m.GetClient(), namespace: options.Namespace, name: options.Name, day: day, now: time.Now}
	return m, errors.Join(m.Add(manager.RunnableFunc(k.run)), k.watchRequests(m), k.watchRevocations(m))
}

// run keeps the signers until ctx ends.
func (k *keeper) run(ctx context.Context) error {
	for {
		wait := keepPeriod
		if err := k.Keep(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "signers are not kept; it is tried again")
			wait = askAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func kind(of string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(groupVersion.WithKind(of))
	return obj
}

func (k *keeper) watchRequests(m ctrl.Manager) error {
	// A request is named as its approval.
	sameName := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: obj.GetName()}}}
	})
	return ctrl.NewControllerManagedBy(m).Named("break-glass").For(&certificatesv1.CertificateSigningRequest{}).
		Watches(kind(approvalKind.Kind), sameName).Complete(&requests{client: k.client, namespace: k.namespace, now: k.now})
}

func (k *keeper) watchRevocations(m ctrl.Manager) error {
	servers := &apiServers{client: k.client, namespace: k.namespace}
	return ctrl.NewControllerManagedBy(m).Named("revocation").For(kind(revocationKind.Kind)).
		Complete(&revocations{keeper: k, servers: servers.ask})
}
