package hostedcluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

const defaultIssuer = "https://kubernetes.default.svc"

// ensureMetadata writes finalizer and identity back, and that the cluster once was available, in one patch. It comes before everything
// else: whatever is created afterwards carries the infraID, and must be found again by it.
func (p *pass) ensureMetadata(ctx context.Context) error {
	before := p.hc.DeepCopy()
	controllerutil.AddFinalizer(p.hc, hyperv1.Finalizer)
	if p.hc.Spec.InfraID == "" {
		p.hc.Spec.InfraID = infraID(p.hc.Name, rand.IntN)
	}
	if p.hc.Spec.ClusterID == "" {
		p.hc.Spec.ClusterID = uuid.NewString()
	}
	if p.hc.Spec.IssuerURL == "" {
		p.hc.Spec.IssuerURL = defaultIssuer
	}
	if kube.IsTrue(p.hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		// Metrics tell a first rollout from an outage by it.
		metav1.SetMetaDataAnnotation(&p.hc.ObjectMeta, hyperv1.HasBeenAvailableAnnotation, "true")
	}
	p.names = namesOf(p.hc)
	if equality.Semantic.DeepEqual(before.Spec, p.hc.Spec) && len(before.Finalizers) == len(p.hc.Finalizers) &&
		len(before.Annotations) == len(p.hc.Annotations) {
		return nil
	}
	if err := p.Patch(ctx, p.hc, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write finalizer and identifiers: %w", err)
	}
	return nil
}

// confirm reads the HostedCluster past the cache before something is made that only its deletion removes: a cache that has just been
// filled may show a cluster whose deletion is over, and nobody would come back for what is made for it.
func (p *pass) confirm(ctx context.Context) error {
	live := &hyperv1.HostedCluster{}
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.hc), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the HostedCluster: %w", err)
	}
	if err != nil || live.UID != p.hc.UID || !live.DeletionTimestamp.IsZero() {
		return &steps.Waiting{For: "the cache to see the deletion of the HostedCluster"}
	}
	return nil
}

// pauseState reads spec.pausedUntil and reports it in ReconciliationActive.
func (p *pass) pauseState() bool {
	conditions := p.conditions()
	value := p.hc.Spec.PausedUntil
	if value == nil || *value == "" {
		conditions.True(hyperv1.ReconciliationActive, hyperv1.AsExpectedReason, "Reconciliation is active.")
		return false
	}
	if paused, err := strconv.ParseBool(*value); err == nil {
		if !paused {
			conditions.True(hyperv1.ReconciliationActive, hyperv1.AsExpectedReason, "Reconciliation is active.")
			return false
		}
		conditions.False(hyperv1.ReconciliationActive, hyperv1.ReconciliationPausedReason, "Paused: nothing is changed until spec.pausedUntil is removed.")
		return true
	}
	until, err := time.Parse(time.RFC3339, *value)
	if err != nil {
		conditions.False(hyperv1.ReconciliationActive, hyperv1.InvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil %q is neither a boolean nor a time like 2026-01-31T12:00:00Z; the cluster is not paused.", *value))
		return false
	}
	if remaining := until.Sub(p.Now()); remaining > 0 {
		p.requeue(remaining)
		conditions.False(hyperv1.ReconciliationActive, hyperv1.ReconciliationPausedReason, "Paused: nothing is changed until "+*value+".")
		return true
	}
	conditions.True(hyperv1.ReconciliationActive, hyperv1.AsExpectedReason, "Reconciliation is active.")
	return false
}

// pause hands the pause down and changes nothing else.
func (p *pass) pause(ctx context.Context) error {
	if err := p.setControlPlanePaused(ctx); err != nil {
		return err
	}
	return p.setCAPIPaused(ctx, true)
}

func (p *pass) conditions() kube.ConditionSetter {
	return kube.Conditions(&p.hc.Status.Conditions, p.hc.Generation)
}
