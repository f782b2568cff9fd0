package nodepool

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

// maxUnavailable is how many nodes may be changed at a time. Of a pool that the autoscaler sizes a share is one node: nobody knows of what.
func maxUnavailable(np *hyperv1.NodePool) int {
	if np.Spec.Management.InPlace == nil || np.Spec.Management.InPlace.MaxUnavailable == nil {
		return 1
	}
	var size int32
	if np.Spec.AutoScaling == nil {
		size = ptr.Deref(np.Spec.Replicas, 0)
	}
	number, err := intstr.GetScaledValueFromIntOrPercent(np.Spec.Management.InPlace.MaxUnavailable, int(size), false)
	if err != nil {
		return 1
	}
	return max(number, 1)
}

// inPlaceAnnotations tell who changes the nodes what is wanted and how many may be away for it.
func inPlaceAnnotations(p *pass) map[string]string {
	if !observed.UpdatedInPlace(p.np) {
		return nil
	}
	return map[string]string{
		hyperv1.NodePoolTargetConfigVersionAnnotation: p.config.version,
		hyperv1.NodePoolMaxUnavailableAnnotation:      fmt.Sprint(maxUnavailable(p.np)),
	}
}

// changedInPlace: every node of the pool has been made what the pool asks for. Machines are not asked: what they were made of is history.
func (p *pass) changedInPlace(wanted int32) bool {
	told := p.maker.Annotations
	if told[hyperv1.NodePoolTargetConfigVersionAnnotation] != p.config.version || told[hyperv1.NodePoolCurrentConfigVersionAnnotation] != p.config.version {
		return false
	}
	for _, m := range p.machines {
		if m.DeletionTimestamp != nil {
			return false
		}
	}
	return len(p.machines) == int(wanted) && ptr.Deref(p.maker.Status.AvailableReplicas, 0) == wanted
}

// inPlaceProgress is what the changing of nodes says of itself: a failure, or how far it is. Both are empty for other pools.
func (p *pass) inPlaceProgress(condition string) (failure, progress string) {
	if !observed.UpdatedInPlace(p.np) || p.maker == nil || condition == hyperv1.NodePoolUpdatingPlatformMachineTemplate {
		return "", ""
	}
	return p.maker.Annotations[hyperv1.NodePoolUpgradeInProgressFalseAnnotation], p.maker.Annotations[hyperv1.NodePoolUpgradeInProgressTrueAnnotation]
}

// offerUpdate puts where the configuration of the target is, and the token, where who changes nodes in place reads it: one Secret for all
// pools of the cluster, since a right to Secrets of any name would be one to the keys of the control plane.
func (r *Reconciler) offerUpdate(ctx context.Context, p *pass, source ignition.UserData) error {
	if !observed.UpdatedInPlace(p.np) {
		return nil
	}
	return r.writeUpdates(ctx, p, map[string][]byte{contract.InPlaceUpdateKey(p.np.Name, p.config.version): source.Settings()})
}

// writeUpdates has the pool's keys of the Secret be these; those of other pools stay as they are.
func (r *Reconciler) writeUpdates(ctx context.Context, p *pass, keys map[string][]byte) error {
	live := &corev1.Secret{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: contract.InPlaceUpdates}, live)
	if apierrors.IsNotFound(err) {
		if len(keys) == 0 {
			return nil
		}
		live = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: contract.InPlaceUpdates}, Data: keys}
		if err := r.client.Create(ctx, live); err != nil {
			return fmt.Errorf("create Secret %s: %w", live.Name, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s: %w", contract.InPlaceUpdates, err)
	}
	changed := live.DeepCopy()
	maps.DeleteFunc(changed.Data, func(key string, _ []byte) bool {
		pool, _, _ := strings.Cut(key, ".")
		return pool == p.np.Name
	})
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	maps.Copy(changed.Data, keys)
	if maps.EqualFunc(live.Data, changed.Data, bytes.Equal) {
		return nil
	}
	if err := r.client.Patch(ctx, changed, client.MergeFrom(live)); err != nil {
		return fmt.Errorf("write Secret %s: %w", live.Name, err)
	}
	return nil
}
