package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/conversion"
	"github.com/hypershift-on-azure/hypershift/internal/egress"
	"github.com/hypershift-on-azure/hypershift/internal/events"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/dashboards"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/management"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/releases"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/supportedversions"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

const (
	leaseName     = contract.OperatorLease
	leaseDuration = 60 * time.Second
	renewDeadline = 40 * time.Second
	retryPeriod   = 15 * time.Second

	clientQPS   = 300
	clientBurst = 600

	// gcPercent keeps less garbage than Go's 100: nearly all memory is caches, which fill once and seldom change, so to collect more
	// often costs little.
	gcPercent = 50

	containerName = "operator"
)

type config struct {
	namespace, podName        string
	metricsAddr, healthAddr   string
	controlPlaneOperatorImage string
	webhookPort               int
	ingressDomain             string
	registryOverrides         string
	releaseKeys               string
	egressBlockCIDRs          []string
	allowPrivateRegistries    bool
	privatePlatform           string
	// etcdBackupMaxCount is how many successful backups of a control plane stay.
	etcdBackupMaxCount int
	// maxConcurrentUpgrades is how many control planes are upgraded at a time; 0 is no bound.
	maxConcurrentUpgrades    int
	clusterMonitoring, debug bool
}

func run(ctx context.Context, c config) error {
	if c.etcdBackupMaxCount < 1 {
		return fmt.Errorf("--etcd-backup-max-count=%d keeps no backup; use 1 or more", c.etcdBackupMaxCount)
	}
	if c.maxConcurrentUpgrades < 0 {
		return fmt.Errorf("--max-concurrent-upgrades=%d: use 1 or more, or 0 for no bound", c.maxConcurrentUpgrades)
	}
	if c.privatePlatform != "None" {
		return fmt.Errorf("--private-platform=%s is not served by this build; use None", c.privatePlatform)
	}
	level := slog.LevelInfo
	if c.debug {
		level = slog.LevelDebug
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	// A new cluster with two pools is some eighty writes at once; the API server's own fairness limits what this may do to others.
	restConfig.QPS, restConfig.Burst = clientQPS, clientBurst
	certificates := conversion.New(c.namespace)
	byObject := hostedcluster.CacheOptions()
	byObject[&apiextensionsv1.CustomResourceDefinition{}] = conversion.CacheOptions()
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: c.metricsAddr},
		HealthProbeBindAddress:        c.healthAddr,
		LeaderElection:                true,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       c.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(leaseDuration),
		RenewDeadline:                 ptr.To(renewDeadline),
		RetryPeriod:                   ptr.To(retryPeriod),
		WebhookServer: webhook.NewServer(webhook.Options{Port: c.webhookPort, TLSOpts: []func(*tls.Config){
			func(config *tls.Config) { config.GetCertificate = certificates.GetCertificate },
		}}),
		// The objects of Cluster API and Routes are watched anyway.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{
			// Nobody here reads managed fields, and they are a third of what a cache holds.
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         byObject,
		},
	})
	if err != nil {
		return fmt.Errorf("start the manager: %w", err)
	}
	if c.webhookPort != 0 {
		webhook, err := conversion.Handler(mgr.GetAPIReader(), mgr.GetRESTMapper())
		if err != nil {
			return err
		}
		if err := certificates.SetupWithManager(ctx, mgr, webhook); err != nil {
			return err
		}
		if err := (&conversion.Migration{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).SetupWithManager(mgr); err != nil {
			return err
		}
	}
	if err := setUp(ctx, mgr, c); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func setUp(ctx context.Context, mgr ctrl.Manager, c config) error {
	options, pools, err := discover(ctx, mgr, c)
	if err != nil {
		return err
	}
	if err := hostedcluster.SetupWithManager(mgr, options); err != nil {
		return err
	}
	if err := nodepool.SetupWithManager(mgr, pools); err != nil {
		return err
	}
	if err := metrics.SetupWithManager(ctx, mgr, metrics.Options{Version: buildinfo.Get().Version, Image: options.Releases.OperatorImage, Backups: os.Getenv(contract.FeatureSetEnv) == techPreview}); err != nil {
		return err
	}
	if err := events.SetupWithManager(mgr); err != nil {
		return err
	}
	versions := &supportedversions.Publisher{Client: mgr.GetClient(), Namespace: c.namespace, Commit: buildinfo.Get().Commit}
	if err := versions.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("serve /healthz: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("serve /readyz: %w", err)
	}
	return nil
}

// discover asks the management cluster what it offers and how it reaches the outside.
func discover(ctx context.Context, mgr ctrl.Manager, c config) (hostedcluster.Options, nodepool.Options, error) {
	live := mgr.GetAPIReader()
	proxy, err := proxyenv.Detect(ctx, live)
	if err == nil {
		proxy, err = proxy.WithGivenAuthorities(proxyenv.TrustBundleDir)
	}
	if err != nil {
		return hostedcluster.Options{}, nodepool.Options{}, err
	}
	capabilities, err := management.Probe(mgr.GetRESTMapper())
	if err != nil {
		return hostedcluster.Options{}, nodepool.Options{}, err
	}
	domain := c.ingressDomain
	if domain == "" {
		if domain, err = management.IngressDomain(ctx, live); err != nil {
			return hostedcluster.Options{}, nodepool.Options{}, err
		}
	}
	image, err := ownImage(ctx, live, c)
	if err != nil {
		return hostedcluster.Options{}, nodepool.Options{}, err
	}
	mirrors, err := releases.ProbeMirrors(mgr.GetRESTMapper(), live)
	if err != nil {
		return hostedcluster.Options{}, nodepool.Options{}, err
	}
	overrides, err := release.ParseOverrides(c.registryOverrides)
	if err != nil {
		return hostedcluster.Options{}, nodepool.Options{}, fmt.Errorf("--registry-overrides: %w", err)
	}
	signers, err := c.signers()
	if err != nil {
		return hostedcluster.Options{}, nodepool.Options{}, err
	}
	reader := release.Reader{
		Signers: signers,
		Proxy:   proxyFunc(proxy),
		Guard:   &egress.Policy{AllowPrivate: c.allowPrivateRegistries},
		Trusted: installedFrom(image, c.controlPlaneOperatorImage, overrides),
	}
	cache, labels := release.NewCache(reader), release.NewLabelCache(reader)
	cache.Limits, labels.Limits = tenantLimits, tenantLimits
	payloads := release.Overridden{
		Source:     release.Mirrored{Source: cache, Mirrors: mirrors.List},
		Registries: overrides,
	}
	var boards dashboards.Options
	if os.Getenv(contract.MonitoringDashboardsEnv) == "1" {
		if boards, err = dashboards.Probe(ctx, live, c.namespace); err != nil {
			return hostedcluster.Options{}, nodepool.Options{}, err
		}
	}
	pools := nodepool.Options{Releases: payloads.Unchanged(), TechPreview: os.Getenv(contract.FeatureSetEnv) == techPreview}
	ctrl.Log.Info("management cluster", "routes", capabilities.Routes, "sccs", capabilities.SecurityContextConstraints,
		"ingressDomain", domain, "proxy", proxy.Set(), "image", image)
	return hostedcluster.Options{
		Releases: releases.Options{
			Releases:                  payloads,
			Labels:                    labels,
			Mirrors:                   mirrors,
			OperatorImage:             image,
			ControlPlaneOperatorImage: c.controlPlaneOperatorImage,
			ClusterAPIImage:           os.Getenv(contract.ClusterAPIImageEnv),
			AzureProviderImage:        os.Getenv(contract.AzureProviderImageEnv),
		},
		Operators:             c.operators(domain),
		Capabilities:          capabilities,
		OperatorNamespace:     c.namespace,
		EgressBlockCIDRs:      c.egressBlockCIDRs,
		ClusterMonitoring:     c.clusterMonitoring,
		MaxConcurrentUpgrades: c.maxConcurrentUpgrades,
		Dashboards:            boards,
		Proxy:                 proxy,
	}, pools, nil
}

// signers are the keys that must have signed releases; nil takes unsigned ones.
func (c config) signers() (*signature.Keys, error) {
	if c.releaseKeys == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.releaseKeys)
	if err != nil {
		return nil, fmt.Errorf("--release-signature-keys: %w", err)
	}
	keys, err := signature.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("--release-signature-keys %s: %w", c.releaseKeys, err)
	}
	return keys, nil
}

// operators are what the operators of all control planes are told.
func (c config) operators(domain string) operators.Options {
	return operators.Options{
		RegistryOverrides:  c.registryOverrides,
		KonnectivityImage:  os.Getenv(contract.KonnectivityImageEnv),
		CertRotationScale:  os.Getenv(contract.CertificateScaleEnv),
		MetricsSet:         os.Getenv(contract.MetricsSetEnv),
		IngressDomain:      domain,
		EtcdBackupMaxCount: c.etcdBackupMaxCount,
		FeatureSet:         os.Getenv(contract.FeatureSetEnv),
	}
}

// techPreview is the set of features with every technology preview.
const techPreview = "TechPreviewNoUpgrade"

// tenantLimits: a worker that waits two seconds for a registry is one that others miss for two seconds.
var tenantLimits = release.Limits{Wait: 2 * time.Second, PerTenant: 4}

// installedFrom are the places of images that the installation chose, which may be in a private network.
func installedFrom(operator, controlPlaneOperator string, overrides []release.Mirror) []string {
	var places []string
	for _, image := range []string{operator, controlPlaneOperator, os.Getenv(contract.ClusterAPIImageEnv), os.Getenv(contract.AzureProviderImageEnv), os.Getenv(contract.KonnectivityImageEnv)} {
		if image != "" {
			places = append(places, release.Repository(image))
		}
	}
	for _, override := range overrides {
		places = append(places, override.Mirrors...)
	}
	return places
}

// proxyFunc is not http.ProxyFromEnvironment, which looks at the environment once: the proxy may come from the management cluster.
func proxyFunc(proxy proxyenv.Proxy) func(*http.Request) (*url.URL, error) {
	choose := (&httpproxy.Config{HTTPProxy: proxy.HTTPProxy, HTTPSProxy: proxy.HTTPSProxy, NoProxy: proxy.NoProxy}).ProxyFunc()
	return func(request *http.Request) (*url.URL, error) { return choose(request.URL) }
}

// ownImage is what this pod runs; outside of a pod it is the build's default.
func ownImage(ctx context.Context, live client.Reader, c config) (string, error) {
	if c.podName == "" {
		return version.OperatorImage(), nil
	}
	pod := &corev1.Pod{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.podName}, pod); err != nil {
		return "", fmt.Errorf("read this pod, %s/%s, for its image; check --namespace and --pod-name: %w", c.namespace, c.podName, err)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == containerName {
			return container.Image, nil
		}
	}
	return "", fmt.Errorf("pod %s/%s has no container %q", c.namespace, c.podName, containerName)
}
