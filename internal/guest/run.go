// Package guest is the hosted-cluster-config-operator, which keeps the inside of a hosted cluster: it wires what its sub-packages reconcile.
package guest

import (
	"context"
	"errors"
	"fmt"
	"os"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/cleanup"
	"github.com/hypershift-on-azure/hypershift/internal/guest/connection"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inplace"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/nodes"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/guest/reencryption"
	"github.com/hypershift-on-azure/hypershift/internal/guest/resources"
	"github.com/hypershift-on-azure/hypershift/internal/guest/version"
	"github.com/hypershift-on-azure/hypershift/internal/guest/webhooks"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Options configure the hosted-cluster-config-operator. On the management side it uses its service account: HostedControlPlanes (and
// their status), Secrets, ConfigMaps, Services, Machines and MachineSets of the namespace. In the guest it is system:hosted-cluster-config; see access.Bootstrap.
type Options struct {
	// Namespace is the control-plane namespace.
	Namespace string
	// TargetKubeconfig leads to the guest.
	TargetKubeconfig string
	// KonnectivityAddress and KonnectivityPort are the published endpoint that agents dial.
	KonnectivityAddress string
	KonnectivityPort    int32
	// MetricsAddr and HealthAddr are plain listeners ("0": none).
	MetricsAddr, HealthAddr string
}

// AddFlags registers the flags of the subcommand.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "control-plane namespace")
	flags.StringVar(&o.TargetKubeconfig, "target-kubeconfig", "", "kubeconfig of the hosted cluster")
	flags.StringVar(&o.KonnectivityAddress, "konnectivity-address", "", "host at which konnectivity agents reach their server")
	flags.Int32Var(&o.KonnectivityPort, "konnectivity-port", 443, "port at which konnectivity agents reach their server")
	flags.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "address of the metrics listener, 0 for none")
	flags.StringVar(&o.HealthAddr, "health-addr", ":6060", "address of the health listener, 0 for none")
}

func (o *Options) validate() error {
	var missing []error
	for _, required := range []struct{ flag, value string }{
		{"--namespace", o.Namespace}, {"--target-kubeconfig", o.TargetKubeconfig}, {"--konnectivity-address", o.KonnectivityAddress},
	} {
		if required.value == "" {
			missing = append(missing, fmt.Errorf("hosted-cluster-config-operator: %s is missing", required.flag))
		}
	}
	return errors.Join(missing...)
}

// Run works until ctx ends.
func Run(ctx context.Context, options Options) error {
	if err := options.validate(); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, hyperv1.AddToScheme, apiextensionsv1.AddToScheme, configv1.Install,
	} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("hosted-cluster-config-operator: %w", err)
		}
	}
	guestConfig, err := clientcmd.BuildConfigFromFlags("", options.TargetKubeconfig)
	if err != nil {
		return fmt.Errorf("hosted-cluster-config-operator: read %s: %w", options.TargetKubeconfig, err)
	}
	manager, err := guestManager(guestConfig, scheme, options)
	if err != nil {
		return err
	}
	management, err := plane.Connect(scheme, options.Namespace)
	if err != nil {
		return err
	}
	if err := manager.Add(management); err != nil {
		return fmt.Errorf("hosted-cluster-config-operator: %w", err)
	}
	releases, err := release.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	if err := setupControllers(manager, management, releases, options); err != nil {
		return err
	}
	return manager.Start(ctx)
}

func guestManager(config *rest.Config, scheme *runtime.Scheme, options Options) (ctrl.Manager, error) {
	config.QPS, config.Burst = 50, 100
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: options.MetricsAddr},
		HealthProbeBindAddress: options.HealthAddr,
		Cache:                  cache.Options{ByObject: resources.ManagedObjects()},
	})
	if err != nil {
		return nil, fmt.Errorf("hosted-cluster-config-operator: reach the hosted cluster: %w", err)
	}
	return manager, errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("ping", healthz.Ping))
}

func setupControllers(manager ctrl.Manager, management cluster.Cluster, releases release.Provider, options Options) error {
	reader := readerOf(manager, management, releases, options)
	if err := setupResources(manager, management, reader, options); err != nil {
		return err
	}
	if err := inplace.Setup(manager, management, options.Namespace, reader.Facts, releases); err != nil {
		return err
	}
	if err := nodes.Setup(manager, management, options.Namespace); err != nil {
		return err
	}
	if err := reencryption.Setup(manager, management, options.Namespace); err != nil {
		return err
	}
	if err := cleanup.Setup(manager, management, options.Namespace); err != nil {
		return err
	}
	if err := webhooks.Setup(manager, management, options.Namespace); err != nil {
		return err
	}
	status, err := connection.NewReporter(manager, management, options.Namespace)
	if err != nil {
		return err
	}
	return manager.Add(status)
}

func readerOf(manager ctrl.Manager, management cluster.Cluster, releases release.Provider, options Options) *inside.Reader {
	return &inside.Reader{
		Guest: manager.GetClient(), Live: manager.GetAPIReader(), Management: management.GetClient(), Namespace: options.Namespace, Releases: releases,
		KonnectivityHost: options.KonnectivityAddress, KonnectivityPort: options.KonnectivityPort,
	}
}

// setupResources sets up what keeps the objects of the guest, and what tells its version once their kinds are served.
func setupResources(manager ctrl.Manager, management cluster.Cluster, reader *inside.Reader, options Options) error {
	return resources.Setup(manager, management, options.Namespace, reader.Facts, func() error {
		return version.Setup(manager, management, options.Namespace, reader.Facts)
	})
}
