package hostedcluster

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/infraid"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const defaultIssuer = "https://kubernetes.default.svc"

// identify writes finalizer and identity back, and that the cluster once was available, in one patch. It comes before everything
// else: whatever is created afterwards carries the infraID, and must be found again by it.
func identify(ctx context.Context, c *cluster.Cluster) error {
	hc := c.Hosted
	before := hc.DeepCopy()
	controllerutil.AddFinalizer(hc, hyperv1.Finalizer)
	if hc.Spec.InfraID == "" {
		hc.Spec.InfraID = infraid.New(hc.Name)
	}
	if hc.Spec.ClusterID == "" {
		hc.Spec.ClusterID = uuid.NewString()
	}
	if hc.Spec.IssuerURL == "" {
		hc.Spec.IssuerURL = defaultIssuer
	}
	if kube.IsTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		// Metrics tell a first rollout from an outage by it.
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.HasBeenAvailableAnnotation, "true")
	}
	if equality.Semantic.DeepEqual(before.Spec, hc.Spec) && len(before.Finalizers) == len(hc.Finalizers) &&
		len(before.Annotations) == len(hc.Annotations) {
		return nil
	}
	if err := c.Client.Patch(ctx, hc, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write finalizer and identifiers: %w", err)
	}
	return nil
}
