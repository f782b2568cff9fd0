package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/backups"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/credentials"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/status"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// guestTimeout bounds one request to the hosted API server.
const guestTimeout = 10 * time.Second

type config struct {
	namespace, deploymentName string
	metricsAddr, healthAddr   string
	// registryOverrides and imageOverrides change images of the management side; the hosted cluster's side keeps the payload's.
	registryOverrides, imageOverrides string
}

func runCommand() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controller",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), c) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.namespace, "namespace", os.Getenv(contract.NamespaceEnv), "control-plane namespace")
	flags.StringVar(&c.deploymentName, "deployment-name", contract.ControlPlaneOperator, "Deployment this process runs in")
	flags.StringVar(&c.metricsAddr, "metrics-addr", "0", "address of the metrics listener, 0 for none")
	flags.StringVar(&c.healthAddr, "health-addr", ":6060", "address of the health listener, 0 for none")
	flags.StringVar(&c.registryOverrides, "registry-overrides", "", "source=destination,...: prefixes of images that the management side pulls from elsewhere")
	flags.StringVar(&c.imageOverrides, "image-overrides", "", "component=image,...: images that replace the payload's on the management side")
	return cmd
}

func run(ctx context.Context, c config) error {
	if c.namespace == "" {
		return errors.New("--namespace is missing; pass the control-plane namespace")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register the API kinds: %w", err)
	}
	rest, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	// A control plane is made of about a hundred objects; the default of 20 requests a second would be most of the wait.
	rest.QPS, rest.Burst = 100, 300
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: c.metricsAddr},
		HealthProbeBindAddress: c.healthAddr,
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{c.namespace: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
			ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: status.WatchedPods()}},
		},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return fmt.Errorf("reach the management cluster: %w", err)
	}
	reconciler, err := newReconciler(manager.GetClient(), scheme, c)
	if err != nil {
		return err
	}
	keep, err := backupsToKeep(os.Getenv(contract.BackupMaxCountEnv))
	if err != nil {
		return err
	}
	saver := &backups.Reconciler{Client: manager.GetClient(), Live: manager.GetAPIReader(), Settings: reconciler.Settings, Keep: keep, Now: time.Now}
	scheduler := &backups.Scheduler{Client: manager.GetClient(), Now: time.Now}
	tokens := &ignitionserver.TokenRights{Client: manager.GetClient(), Namespace: c.namespace}
	if err := errors.Join(reconciler.Setup(manager), saver.Setup(manager), scheduler.Setup(manager), tokens.Setup(manager), manager.AddHealthzCheck("passes", reconciler.Alive), manager.AddReadyzCheck("passes", reconciler.Alive)); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// backupsToKeep reads how many successful backups stay.
func backupsToKeep(text string) (int, error) {
	if text == "" {
		return contract.DefaultBackupMaxCount, nil
	}
	keep, err := strconv.Atoi(text)
	if err != nil || keep < 1 {
		return 0, fmt.Errorf("%s=%q is no number of backups; use 1 or more", contract.BackupMaxCountEnv, text)
	}
	return keep, nil
}

func newReconciler(c client.Client, scheme *runtime.Scheme, options config) (*controlplane.Reconciler, error) {
	policy, err := pki.PolicyFromEnvironment(os.Getenv)
	if err != nil {
		return nil, err
	}
	releases, err := managementView(options)
	if err != nil {
		return nil, err
	}
	set, err := monitor.ParseSet(os.Getenv(contract.MetricsSetEnv))
	if err != nil {
		return nil, fmt.Errorf("METRICS_SET: %w", err)
	}
	settings := component.Settings{Image: os.Getenv(contract.ControlPlaneOperatorImageEnv), CertificateScale: os.Getenv(contract.CertificateScaleEnv)}
	if settings.Image == "" {
		return nil, errors.New("CONTROL_PLANE_OPERATOR_IMAGE is not set; helper containers run from this image")
	}
	if text := os.Getenv(contract.SecurityContextUIDEnv); text != "" {
		uid, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("DEFAULT_SECURITY_CONTEXT_UID=%q is not a number: %w", text, err)
		}
		settings.UID = &uid
	}
	// Where this process reads payloads from, those of the hosted cluster's side find them too.
	settings.ReleaseMirrors = strings.Trim(options.registryOverrides+","+os.Getenv(release.MirrorsEnv), ",")
	proxy := proxyenv.FromEnvironment(os.Getenv)
	settings.Cloud = func(template *corev1.PodTemplateSpec) { proxyenv.Stamp(&template.Spec, proxy) }
	return &controlplane.Reconciler{
		Client:        steps.Recording(c),
		Releases:      releases,
		Catalogs:      &catalog.Finder{Digest: release.Reader{}.Digest},
		Settings:      settings,
		ReleaseImage:  os.Getenv(contract.OwnReleaseEnv),
		IngressDomain: os.Getenv(contract.IngressDomainEnv),
		Certificates:  policy,
		MetricsSet:    set,
		Now:           time.Now,
		OpenVault:     credentials.OpenVault,
		SignIn:        credentials.SignIn,
		Guest: func(kubeconfig []byte) (client.Client, error) {
			config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
			if err != nil {
				return nil, fmt.Errorf("read the guest's kubeconfig: %w", err)
			}
			config.Timeout = guestTimeout
			return client.New(config, client.Options{Scheme: scheme})
		},
	}, nil
}

// managementView reads releases for what runs on the management side.
func managementView(options config) (release.Provider, error) {
	source, err := release.FromEnvironment(os.Getenv)
	if err != nil {
		return nil, err
	}
	registries, err := release.ParseOverrides(options.registryOverrides)
	if err != nil {
		return nil, fmt.Errorf("--registry-overrides: %w", err)
	}
	images, err := release.ParseImages(options.imageOverrides)
	if err != nil {
		return nil, fmt.Errorf("--image-overrides: %w", err)
	}
	return release.Overridden{Source: source, Registries: registries, Images: images}, nil
}
