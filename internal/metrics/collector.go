package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/health"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// scrapeTimeout ends a scrape that waits for a cache that does not fill; Prometheus gives up after ten seconds by itself.
const scrapeTimeout = 5 * time.Second

var operatorInfo = newGauge(series.Telemetry, "hypershift_operator_info", "Always 1; the labels say which operator this is.", "version", "image")

// Options say what the metrics cannot see for themselves.
type Options struct {
	// Version and Image of this operator.
	Version, Image string
	// Backups: the management cluster has HCPEtcdBackup.
	Backups bool
}

// SetupWithManager registers all metrics with the manager's endpoint.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, options Options) error {
	c := &collector{reader: mgr.GetCache(), options: options, now: time.Now}
	f := newFollower()
	for _, metrics := range []prometheus.Collector{c, f} {
		if err := ctrlmetrics.Registry.Register(metrics); err != nil {
			return fmt.Errorf("register the metrics of hosted clusters: %w", err)
		}
	}
	return f.follow(ctx, mgr.GetCache())
}

// collector computes the gauges when it is asked.
type collector struct {
	// reader is a cache: what it returns is shared and only read.
	reader  client.Reader
	options Options
	now     func() time.Time
}

// Describe sends nothing: series come and go with the objects, and the registry checks them as they come.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. What it cannot read it leaves out: the metrics of the process itself must not go
// missing while a cache fills.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	operatorInfo.send(to, 1, c.options.Version, c.options.Image)
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	clusters, pools := &hyperv1.HostedClusterList{}, &hyperv1.NodePoolList{}
	for _, list := range []client.ObjectList{clusters, pools} {
		if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.Log.WithName("metrics").V(1).Info("not ready to be scraped", "reason", err.Error())
			return
		}
	}
	ids := c.collectClusters(ctx, clusters, poolsByCluster(pools), to)
	c.collectPools(pools, ids, to)
}

func poolsByCluster(pools *hyperv1.NodePoolList) map[types.NamespacedName][]*hyperv1.NodePool {
	byCluster := map[types.NamespacedName][]*hyperv1.NodePool{}
	for i := range pools.Items {
		key := clusterOf(&pools.Items[i])
		byCluster[key] = append(byCluster[key], &pools.Items[i])
	}
	return byCluster
}

func clusterOf(np *hyperv1.NodePool) types.NamespacedName {
	return types.NamespacedName{Namespace: np.Namespace, Name: np.Spec.ClusterName}
}

func (c *collector) collectClusters(ctx context.Context, list *hyperv1.HostedClusterList, pools map[types.NamespacedName][]*hyperv1.NodePool,
	to chan<- prometheus.Metric) map[types.NamespacedName]string {
	ids := map[types.NamespacedName]string{}
	number, failed := newCount(), newFailures(health.Cluster)
	for i := range list.Items {
		hc := &list.Items[i]
		key := client.ObjectKeyFromObject(hc)
		ids[key] = hc.Spec.ClusterID
		number[string(hc.Spec.Platform.Type)]++
		for _, condition := range hc.Status.Conditions {
			failed.add(string(hc.Spec.Platform.Type), condition.Type, string(condition.Status))
		}
		one := cluster{HostedCluster: hc, pools: pools[key], backups: c.options.Backups, now: c.now(), to: to}
		one.collect(ctx, c.reader)
	}
	number.send(hostedClusters, to)
	failed.send(clusterFailed, to)
	return ids
}

func (c *collector) collectPools(list *hyperv1.NodePoolList, ids map[types.NamespacedName]string, to chan<- prometheus.Metric) {
	number, failed := newCount(), newFailures(health.Pool)
	for i := range list.Items {
		np := &list.Items[i]
		number[string(np.Spec.Platform.Type)]++
		for _, condition := range np.Status.Conditions {
			failed.add(string(np.Spec.Platform.Type), condition.Type, string(condition.Status))
		}
		collectPool(np, ids[clusterOf(np)], c.now(), to)
	}
	number.send(nodePools, to)
	failed.send(poolFailed, to)
}

// count is a number by platform.
type count map[string]int

func newCount() count {
	return count{string(hyperv1.AzurePlatform): 0, string(hyperv1.NonePlatform): 0}
}

func (n count) send(g gauge, to chan<- prometheus.Metric) {
	for platform, number := range n {
		g.send(to, float64(number), platform)
	}
}

func (f failures) send(g gauge, to chan<- prometheus.Metric) {
	for platform, byCondition := range f.count {
		for condition, number := range byCondition {
			g.send(to, float64(number), platform, condition)
		}
	}
}
