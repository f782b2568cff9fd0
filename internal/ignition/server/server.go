// Package server serves machines their configuration over HTTPS when they show their pool's token, keeps these tokens, and takes what
// machines say of themselves.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/payloadrender"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Options configure the ignition server. It runs in a control-plane namespace with its service account's rights there: of
// Secrets it reads those that payloads are made of, and keeps those that Role contract.IgnitionTokens names; ConfigMaps and
// HostedControlPlanes list, watch; events create, patch.
type Options struct {
	// Namespace is the control-plane namespace.
	Namespace string
	// Addr is the HTTPS listener, MetricsAddr the plain one for metrics ("0": none).
	Addr, MetricsAddr string
	// CertFile and KeyFile are the serving certificate; a changed file is picked up.
	CertFile, KeyFile string
	// WorkDir is where a payload's own programs render configurations; empty: no payload of the control plane's kind has any.
	WorkDir string
	// FeatureGate is the file with the FeatureGate that they are given.
	FeatureGate string
}

// AddFlags registers the flags of the subcommand.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "control-plane namespace")
	flags.StringVar(&o.Addr, "addr", ":9090", "address of the HTTPS listener")
	flags.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "address of the metrics listener, 0 for none")
	flags.StringVar(&o.CertFile, "cert-file", "/var/run/secrets/ignition/serving-cert/tls.crt", "serving certificate")
	flags.StringVar(&o.KeyFile, "key-file", "/var/run/secrets/ignition/serving-cert/tls.key", "key of the serving certificate")
	flags.StringVar(&o.WorkDir, "work-dir", "", "directory in which programs of OpenShift payloads render configurations; none runs without it")
	flags.StringVar(&o.FeatureGate, "feature-gate-manifest", "/shared/99_feature-gate.yaml", "FeatureGate that these programs are given")
}

// Run serves until ctx ends.
func Run(ctx context.Context, options Options) error {
	if options.Namespace == "" {
		return errors.New("ignition server: --namespace is missing; pass the control-plane namespace")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("ignition server: find the management cluster: %w", err)
	}
	manager, err := newServerManager(config, options)
	if err != nil {
		return err
	}
	releases, err := release.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	renderers, err := renderersOf(manager.GetClient(), options)
	if err != nil {
		return err
	}
	handler, err := controllers(manager, releases, renderers, options.Namespace)
	if err != nil {
		return err
	}
	if err := manager.Add(&listener{options: options, handler: handler}); err != nil {
		return fmt.Errorf("ignition server: %w", err)
	}
	return manager.Start(ctx)
}

func newServerManager(config *rest.Config, options Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("ignition server: %w", err)
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: options.MetricsAddr},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{options.Namespace: {}},
			ByObject:          map[client.Object]cache.ByObject{&rbacv1.Role{}: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, contract.IgnitionTokens)}},
		},
		// A cache would list all Secrets.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("ignition server: %w", err)
	}
	return manager, nil
}

// renderersOf are those that the server has: which one a pool's payload gets, its kind alone decides.
func renderersOf(c client.Client, options Options) (map[release.Kind]renderer, error) {
	all := map[release.Kind]renderer{release.KindKubernetes: {render: renderPlain}}
	if options.WorkDir == "" {
		return all, nil
	}
	images, err := release.UnpackerFromEnvironment(os.Getenv)
	if err != nil {
		return nil, err
	}
	rendering, err := payloadrender.New(payloadrender.Options{WorkDir: options.WorkDir, FeatureGate: options.FeatureGate, Unpacker: images})
	if err != nil {
		return nil, fmt.Errorf("ignition server: %w", err)
	}
	own := &programs{client: c, namespace: options.Namespace, run: rendering.Render, now: time.Now, known: map[string]outcome{}}
	all[release.KindOpenShift] = renderer{render: own.render, offers: true}
	return all, nil
}

// controllers sets up what follows tokens, and returns what answers machines.
func controllers(manager ctrl.Manager, releases release.Provider, renderers map[release.Kind]renderer, namespace string) (http.Handler, error) {
	clients, err := kubernetes.NewForConfig(manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("ignition server: %w", err)
	}
	tokens := newStore()
	measured := newMetrics(ctrlmetrics.Registry, tokens)
	reconciler := &tokenReconciler{
		client: manager.GetClient(), namespace: namespace, releases: releases,
		store: tokens, metrics: measured, now: time.Now, watches: newWatches(clients, namespace), renderers: renderers,
	}
	if err := reconciler.setup(manager); err != nil {
		return nil, err
	}
	if err := manager.Add(reconciler.watches); err != nil {
		return nil, fmt.Errorf("ignition server: %w", err)
	}
	served := &recorder{client: manager.GetClient(), namespace: namespace, events: manager.GetEventRecorder(contract.IgnitionServer)}
	return &protocol{store: tokens, served: served.record, metrics: measured,
		reports: &reports{client: manager.GetClient(), namespace: namespace, now: time.Now}}, nil
}

func (r *tokenReconciler) setup(manager ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(r.allTokens)
	named := builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool { return sourceMaps[obj.GetName()] }))
	err := ctrl.NewControllerManagedBy(manager).Named("ignition-token").
		WatchesRawSource(source.Channel(r.watches.changed, handler.EnqueueRequestsFromMapFunc(r.concerned))).
		Watches(&corev1.ConfigMap{}, all, named).
		Watches(&hyperv1.HostedControlPlane{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("ignition server: set up the token controller: %w", err)
	}
	names := &namesReconciler{client: r.client, watches: r.watches, store: r.store}
	if err := ctrl.NewControllerManagedBy(manager).Named("ignition-token-names").For(&rbacv1.Role{}).Complete(names); err != nil {
		return fmt.Errorf("ignition server: set up the controller of token names: %w", err)
	}
	return nil
}

// concerned are the tokens that a change of a Secret concerns: itself, or all of them.
func (r *tokenReconciler) concerned(ctx context.Context, secret client.Object) []reconcile.Request {
	if sources[secret.GetName()] {
		return r.allTokens(ctx, secret)
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(secret)}}
}

func (r *tokenReconciler) allTokens(context.Context, client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range r.watches.tokens() {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.namespace, Name: name}})
	}
	return requests
}

// listener serves TLS; as a runnable of the manager it starts once the caches are filled.
type listener struct {
	options Options
	handler http.Handler
}

func (l *listener) Start(ctx context.Context) error {
	certificate, err := certwatcher.New(l.options.CertFile, l.options.KeyFile)
	if err != nil {
		return fmt.Errorf("ignition server: load the serving certificate: %w", err)
	}
	server := &http.Server{
		Handler: l.handler, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate},
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.options.Addr)
	if err != nil {
		return fmt.Errorf("ignition server: %w", err)
	}
	failed := make(chan error, 2)
	go func() { failed <- certificate.Start(ctx) }()
	go func() { failed <- server.ServeTLS(socket, "", "") }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(stop))
}

// recorder leaves the traces of a served payload: an event, and the annotation from which the pool learns it was reached.
type recorder struct {
	client    client.Client
	namespace string
	events    events.EventRecorder
}

func (r *recorder) record(ctx context.Context, e entry, failed error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: e.secret}}
	if failed != nil {
		r.events.Eventf(secret, nil, corev1.EventTypeWarning, "GetPayloadFailed", "GetPayload", "payload of %s was not sent: %v", e.nodePool, failed)
		return
	}
	r.events.Eventf(secret, nil, corev1.EventTypeNormal, "GetPayload", "GetPayload", "payload of %s sent", e.nodePool)
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "read the token secret", "secret", e.secret)
		return
	}
	if secret.Annotations[hyperv1.IgnitionReachedAnnotation] == "True" {
		return
	}
	changed := secret.DeepCopy()
	changed.Annotations[hyperv1.IgnitionReachedAnnotation] = "True"
	if err := r.client.Patch(ctx, changed, client.MergeFrom(secret)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "mark the token secret as reached", "secret", e.secret)
	}
}
