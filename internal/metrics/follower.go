package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

var (
	clusterTransition = define(Histogram, series.SRE, "hypershift_hosted_cluster_transition_seconds",
		"Time from the creation of a hosted cluster until a condition became True; counted until the hosted cluster is available.", "condition")
	poolTransition = define(Histogram, series.SRE, "hypershift_nodepools_transition_seconds",
		"Time from the creation of a node pool until a condition became True; counted until its first version is rolled out.", "condition")
	migrationDuration = define(Histogram, series.SRE, "hypershift_encryption_migration_duration_seconds",
		"Time that a change of the key that encrypts Secrets took.")
	migrationFailures = define(Counter, series.SRE, "hypershift_encryption_migration_failures_total",
		"Changes of the key that encrypts Secrets which were interrupted.")
)

var (
	transitionBuckets = []float64{5, 10, 20, 30, 60, 90, 120, 180, 240, 300, 360, 480, 600}
	migrationBuckets  = []float64{60, 120, 300, 600, 1200, 1800, 3600, 7200}

	// The milestones of a first rollout.
	clusterMilestones = []string{hyperv1.ValidReleaseImage, hyperv1.InfrastructureReady, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable,
		hyperv1.IgnitionEndpointAvailable, hyperv1.HostedClusterAvailable, hyperv1.ClusterVersionAvailable}
	poolMilestones = []string{hyperv1.NodePoolValidGeneratedPayload, hyperv1.NodePoolReachedIgnitionEndpoint,
		hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy, hyperv1.NodePoolReady}
)

const (
	rotationCompleted   = "Completed"
	rotationInterrupted = "Interrupted"
)

// follower counts and times what it sees change. What changed while no operator ran is not seen, and not made up later.
type follower struct {
	clusters, pools *prometheus.HistogramVec
	migrations      prometheus.Histogram
	interrupted     prometheus.Counter
}

func newFollower() *follower {
	options := func(d Definition, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets}
	}
	return &follower{
		clusters:    prometheus.NewHistogramVec(options(clusterTransition, transitionBuckets), clusterTransition.Labels),
		pools:       prometheus.NewHistogramVec(options(poolTransition, transitionBuckets), poolTransition.Labels),
		migrations:  prometheus.NewHistogram(options(migrationDuration, migrationBuckets)),
		interrupted: prometheus.NewCounter(prometheus.CounterOpts{Name: migrationFailures.Name, Help: migrationFailures.Help}),
	}
}

func (f *follower) parts() []prometheus.Collector {
	return []prometheus.Collector{f.clusters, f.pools, f.migrations, f.interrupted}
}

// Describe implements prometheus.Collector.
func (f *follower) Describe(to chan<- *prometheus.Desc) {
	for _, part := range f.parts() {
		part.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (f *follower) Collect(to chan<- prometheus.Metric) {
	for _, part := range f.parts() {
		part.Collect(to)
	}
}

// follow listens to the caches that the controllers fill anyway.
func (f *follower) follow(ctx context.Context, informers cache.Cache) error {
	clusters, err := informers.GetInformer(ctx, &hyperv1.HostedCluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("follow HostedClusters: %w", err)
	}
	pools, err := informers.GetInformer(ctx, &hyperv1.NodePool{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("follow NodePools: %w", err)
	}
	if _, err := clusters.AddEventHandler(changes(f.clusterChanged)); err != nil {
		return fmt.Errorf("follow HostedClusters: %w", err)
	}
	if _, err := pools.AddEventHandler(changes(f.poolChanged)); err != nil {
		return fmt.Errorf("follow NodePools: %w", err)
	}
	return nil
}

func changes[T any](changed func(before, after T)) toolscache.ResourceEventHandlerFuncs {
	return toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		was, ok := before.(T)
		is, alsoOK := after.(T)
		if ok && alsoOK {
			changed(was, is)
		}
	}}
}

func (f *follower) clusterChanged(before, after *hyperv1.HostedCluster) {
	if !HasBeenAvailable(before) {
		for _, milestone := range clusterMilestones {
			is := kube.Find(after.Status.Conditions, milestone)
			if is != nil && is.Status == metav1.ConditionTrue && !kube.IsTrue(before.Status.Conditions, milestone) {
				observe(f.clusters, milestone, after.CreationTimestamp, is.LastTransitionTime)
			}
		}
	}
	f.encryptionChanged(before.Status.SecretEncryption, after.Status.SecretEncryption)
}

func (f *follower) encryptionChanged(before, after *hyperv1.SecretEncryptionStatus) {
	was, is := lastRotation(before), lastRotation(after)
	if is.State == was.State && is.StartedTime.Equal(&was.StartedTime) {
		return
	}
	switch {
	case is.State == rotationInterrupted:
		f.interrupted.Inc()
	case is.State == rotationCompleted && is.CompletionTime != nil:
		f.migrations.Observe(is.CompletionTime.Sub(is.StartedTime.Time).Seconds())
	}
}

func lastRotation(status *hyperv1.SecretEncryptionStatus) hyperv1.SecretEncryptionRotation {
	if status == nil || len(status.History) == 0 {
		return hyperv1.SecretEncryptionRotation{}
	}
	return status.History[0]
}

func (f *follower) poolChanged(before, after *hyperv1.NodePool) {
	if before.Status.Version != "" {
		return
	}
	for _, milestone := range poolMilestones {
		was, is := poolCondition(before, milestone), poolCondition(after, milestone)
		if is.Status == corev1.ConditionTrue && was.Status != corev1.ConditionTrue {
			observe(f.pools, milestone, after.CreationTimestamp, is.LastTransitionTime)
		}
	}
}

// poolCondition is empty while it is not set.
func poolCondition(np *hyperv1.NodePool, name string) hyperv1.NodePoolCondition {
	for _, condition := range np.Status.Conditions {
		if condition.Type == name {
			return condition
		}
	}
	return hyperv1.NodePoolCondition{}
}

func observe(to *prometheus.HistogramVec, condition string, created, reached metav1.Time) {
	to.WithLabelValues(condition).Observe(max(reached.Sub(created.Time), time.Duration(0)).Seconds())
}
