// Package scale runs the real operator against a real API server with a fleet of hosted clusters whose control planes are
// simulated, and measures what it costs.
package scale

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// figures measures at the sizes of the table; without it, a small fleet shows that the operator comes to rest.
var figures = flag.Bool("figures", false, "measure 12, 100 and 200 hosted clusters and print the figures")

const (
	release         = "4.21.0"
	poolsPerCluster = 2
	nodesPerPool    = 2
	// patience ends a measurement that will come to nothing.
	patience = 10 * time.Minute
)

// limits of one size of the fleet; one that is zero does not count.
type limits struct {
	clusters int
	settle   time.Duration
	memory   int64
	cores    float64
	rest     time.Duration
}

func TestOperator(t *testing.T) {
	sizes := []limits{{clusters: 3, rest: 5 * time.Second}}
	if *figures {
		sizes = []limits{
			{clusters: 12, settle: time.Minute, memory: 100 << 20, cores: 0.05, rest: time.Minute},
			{clusters: 100, settle: 2 * time.Minute, memory: 200 << 20, cores: 0.1, rest: time.Minute},
			{clusters: 200, settle: 2 * time.Minute, memory: 200 << 20, cores: 0.1, rest: time.Minute},
		}
	}
	program := buildOperator(t)
	costs := make([]cost, len(sizes))
	for i, size := range sizes {
		t.Run(fmt.Sprintf("%d", size.clusters), func(t *testing.T) { costs[i] = measure(t, program, size) })
	}
	if *figures && !t.Failed() {
		compareCosts(t, costs[1], costs[2])
	}
}

func measure(t *testing.T, program string, size limits) cost {
	t.Helper()
	f := newFleet(t, size.clusters)
	f.create(t)
	first := startOperator(t, program, f.kubeconfig, "--registry-overrides="+releasetest.Trust(f.image))
	fresh := f.settle(t, first)
	first.stop(t)
	f.fill(t)
	// A restart finds everything made: its caches are full at once.
	o := startOperator(t, program, f.kubeconfig, "--registry-overrides="+releasetest.Trust(f.image))
	restarted := f.settle(t, o)
	f.quiet(t)

	writes, asked, cpu := f.writes(t), o.requests(t), o.cpu(t)
	time.Sleep(size.rest)
	writes, asked, cpu = f.writes(t)-writes, o.requests(t)-asked, o.cpu(t)-cpu
	cores, peak := cpu.Seconds()/size.rest.Seconds(), max(first.peak.Load(), o.peak.Load())
	memory, err := o.memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d hosted clusters, %d node pools: reconciled in %.1f s of the operator's first start, %.1f s of a restart; at rest %.0f millicores, %.0f MiB (at most %.0f MiB), %d writes and %d requests, those of its lease too, in %s",
		size.clusters, size.clusters*poolsPerCluster, fresh.Seconds(), restarted.Seconds(), cores*1000, mib(memory), mib(peak), writes, asked, size.rest)
	for start, took := range map[string]time.Duration{"first start": fresh, "restart": restarted} {
		if size.settle > 0 && took > size.settle {
			t.Errorf("everything was reconciled %.1f s after the operator's %s, and may take %s", took.Seconds(), start, size.settle)
		}
	}
	if writes != 0 {
		t.Errorf("%d writes at rest", writes)
	}
	if size.memory > 0 && peak > size.memory {
		t.Errorf("%.0f MiB, and no more than %.0f MiB may be used", mib(peak), mib(size.memory))
	}
	if size.cores > 0 && cores > size.cores {
		t.Errorf("%.3f cores at rest, and no more than %.3f may be used", cores, size.cores)
	}
	return cost{size.clusters, fresh, restarted, memory}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// fleet is a management cluster with the objects of many hosted clusters.
type fleet struct {
	client.Client
	config     *rest.Config
	kubeconfig string
	clusters   int
	image      string
}

func newFleet(t *testing.T, clusters int) *fleet {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	config := kubetest.Start(t)
	kubetest.InstallRoutes(t, config)
	installDefinitions(t, config)
	f := &fleet{clusters: clusters, image: releasetest.Serve(t, release), kubeconfig: kubetest.Kubeconfig(t, config, t.TempDir())}
	f.config = rest.CopyConfig(config)
	f.config.QPS, f.config.Burst = -1, -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mgr, err := ctrl.NewManager(f.config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	f.Client, err = client.New(f.config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&simulation{Client: f.Client, image: f.image}).setUp(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the simulation: %v", err)
		}
	})
	return f
}

// installDefinitions gives the definitions the versions, labels and conversion that an installation has: the operator keeps
// certificates for them and migrates what they store.
func installDefinitions(t *testing.T, config *rest.Config) {
	t.Helper()
	crds, err := (&install.Options{Namespace: "hypershift"}).CRDs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatalf("install the definitions: %v", err)
	}
}

func (f *fleet) create(t *testing.T) {
	t.Helper()
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hypershift"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}},
	}
	for i := range f.clusters {
		name := fmt.Sprintf("fleet-%03d", i)
		objects = append(objects, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name + "-pull-secret"}, Data: map[string][]byte{hyperv1.PullSecretKey: []byte(`{"auths":{}}`)},
		}, f.cluster(name))
		for pool := range poolsPerCluster {
			objects = append(objects, f.pool(name, fmt.Sprintf("%s-%d", name, pool)))
		}
	}
	for _, obj := range objects {
		if err := f.Create(t.Context(), obj); err != nil {
			t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// fill makes the control-plane namespaces as full as they are where control planes run.
func (f *fleet) fill(t *testing.T) {
	t.Helper()
	planes := &hyperv1.HostedControlPlaneList{}
	if err := f.List(t.Context(), planes); err != nil {
		t.Fatal(err)
	}
	if len(planes.Items) != f.clusters {
		t.Fatalf("%d control planes for %d hosted clusters", len(planes.Items), f.clusters)
	}
	var group errgroup.Group
	group.SetLimit(simulationWorkers)
	for i := range planes.Items {
		group.Go(func() error {
			for _, obj := range foreign(&planes.Items[i]) {
				if err := f.Create(t.Context(), obj); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (f *fleet) cluster(name string) *hyperv1.HostedCluster {
	const network = "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft.Network/"
	identity := hyperv1.WorkloadIdentity{ClientID: "11111111-2222-4333-8444-555555555555"}
	publish := func(service hyperv1.ServiceType, how hyperv1.PublishingStrategyType) hyperv1.ServicePublishingStrategyMapping {
		return hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: how}}
	}
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters"}}
	hc.Spec = hyperv1.HostedClusterSpec{
		Release:                      hyperv1.Release{Image: f.image},
		PullSecret:                   corev1.LocalObjectReference{Name: name + "-pull-secret"},
		IssuerURL:                    "https://account.blob.core.windows.net/" + name,
		ControllerAvailabilityPolicy: hyperv1.SingleReplica,
		DNS:                          hyperv1.DNSSpec{BaseDomain: "hypershift.test"},
		Networking: hyperv1.ClusterNetworking{
			NetworkType:    hyperv1.OtherNetwork,
			ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
			ServiceNetwork: []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}},
		},
		Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{
			Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}},
		Services: []hyperv1.ServicePublishingStrategyMapping{
			publish(hyperv1.APIServer, hyperv1.LoadBalancer), publish(hyperv1.Ignition, hyperv1.Route),
			publish(hyperv1.Konnectivity, hyperv1.Route), publish(hyperv1.OAuthServer, hyperv1.Route),
		},
		Platform: hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{
			Location: "eastus", ResourceGroupName: name, TenantID: "7e0a1d00-0000-4000-8000-000000000001",
			SubscriptionID: "5a2d0b0e-0000-4000-8000-000000000001",
			VnetID:         network + "virtualNetworks/vnet", SubnetID: network + "virtualNetworks/vnet/subnets/default",
			SecurityGroupID: network + "networkSecurityGroups/nsg",
			AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{
				AzureAuthenticationConfigType: "WorkloadIdentities",
				WorkloadIdentities: &hyperv1.AzureWorkloadIdentitySet{
					ImageRegistry: identity, Ingress: identity, File: identity, Disk: identity,
					NodePoolManagement: identity, CloudProvider: identity, Network: identity,
				},
			},
		}},
	}
	return hc
}

func (f *fleet) pool(cluster, name string) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
	np.Spec.ClusterName, np.Spec.Replicas = cluster, ptr.To[int32](nodesPerPool)
	np.Spec.Release.Image = f.image
	np.Spec.Management = hyperv1.NodePoolManagement{AutoRepair: true, UpgradeType: hyperv1.UpgradeTypeReplace, Replace: &hyperv1.ReplaceUpgrade{
		Strategy: hyperv1.UpgradeStrategyRollingUpdate, RollingUpdate: &hyperv1.RollingUpdate{},
	}}
	np.Spec.Platform = hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzureNodePoolPlatform{
		VMSize: "Standard_D4s_v3", EncryptionAtHost: "Enabled",
		Image: hyperv1.AzureVMImage{Type: hyperv1.AzureMarketplaceImage, AzureMarketplace: &hyperv1.AzureMarketplaceSpec{
			Publisher: "azureopenshift", Offer: "aro4", SKU: "aro_421", Version: "421.1.20260101",
		}},
		OSDisk:   hyperv1.AzureNodePoolOSDisk{SizeGiB: 120, DiskStorageAccountType: "Premium_LRS"},
		SubnetID: "/subscriptions/5a2d0b0e-0000-4000-8000-000000000001/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/vnet/subnets/default",
	}}
	return np
}

// settle waits until every hosted cluster is available and every pool rolled out, and this operator has looked at each and has
// nothing left to do. It says how long after the operator's start that was.
func (f *fleet) settle(t *testing.T, o *operator) time.Duration {
	t.Helper()
	for {
		missing := f.unsettled(t)
		if missing == "" {
			missing = o.busy(f.clusters, f.clusters*poolsPerCluster)
		}
		took := time.Since(o.started)
		if missing == "" {
			return took
		}
		if took > patience {
			t.Fatalf("after %s: %s\n%s", patience, missing, o.tail())
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func (f *fleet) unsettled(t *testing.T) string {
	t.Helper()
	clusters, pools := &hyperv1.HostedClusterList{}, &hyperv1.NodePoolList{}
	for _, list := range []client.ObjectList{clusters, pools} {
		if err := f.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	var waiting []string
	for i := range clusters.Items {
		hc := &clusters.Items[i]
		if !kube.IsTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) || !kube.IsTrue(hc.Status.Conditions, hyperv1.ReconciliationSucceeded) {
			waiting = append(waiting, hc.Name)
		}
	}
	for i := range pools.Items {
		if np := &pools.Items[i]; np.Status.Version != release || np.Status.Replicas != nodesPerPool {
			waiting = append(waiting, np.Name)
		}
	}
	if len(waiting) == 0 {
		return ""
	}
	return fmt.Sprintf("%d objects are not done, %s among them", len(waiting), waiting[0])
}

// quiet waits until nobody wrote for some seconds.
func (f *fleet) quiet(t *testing.T) {
	t.Helper()
	const still = 5 * time.Second
	deadline := time.Now().Add(time.Minute)
	for before := f.writes(t); ; {
		time.Sleep(still)
		now := f.writes(t)
		if now == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d writes in %s, a minute after everything was reconciled", now-before, still)
		}
		before = now
	}
}

// writes counts what the API server was asked to write, but for leases: nobody but the operator and the simulation uses it.
func (f *fleet) writes(t *testing.T) int {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(f.config)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := scrape(t.Context(), httpClient, "https://"+strings.Trim(strings.TrimPrefix(f.config.Host, "https://"), "/")+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for series, value := range samples {
		if strings.HasPrefix(series, "apiserver_request_total{") && !strings.Contains(series, `resource="leases"`) && mutates(series) {
			total += value
		}
	}
	return int(total)
}

func mutates(series string) bool {
	for _, verb := range []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"} {
		if strings.Contains(series, `verb="`+verb+`"`) {
			return true
		}
	}
	return false
}
