package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// grantPeriod is how often the first rights are looked at again once they were written.
const grantPeriod = 5 * time.Minute

// grants remembers when the rights in a guest were last written.
type grants struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

func (g *grants) due(id types.UID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Sub(g.last[id]) > grantPeriod
}

func (g *grants) done(id types.UID, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = map[types.UID]time.Time{}
	}
	g.last[id] = now
}

// endAPIServer stops the API server at once. Its long goodbye to its clients is for rollouts: here the machines are gone, and a pod
// that was asked to end cannot be asked to hurry, so its owners are taken away first, and leave it.
func (r *Reconciler) endAPIServer(ctx context.Context, namespace string) error {
	inside, itself := client.InNamespace(namespace), client.MatchingLabels{component.LabelApp: contract.APIServer}
	leave := client.PropagationPolicy(metav1.DeletePropagationOrphan)
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: contract.APIServer, Namespace: namespace}}
	if err := kube.DeleteIfExists(ctx, r.Client, owner, leave); err != nil {
		return err
	}
	if err := r.Client.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, itself, leave); err != nil {
		return fmt.Errorf("delete the replica sets of the API server: %w", err)
	}
	if err := r.Client.DeleteAllOf(ctx, &corev1.Pod{}, inside, itself, client.GracePeriodSeconds(1)); err != nil {
		return fmt.Errorf("end the API server: %w", err)
	}
	return nil
}

// grant writes into the guest what must be there before anybody else can work in it.
func grant(ctx context.Context, connect func(kubeconfig []byte) (client.Client, error), inputs *component.Inputs) error {
	data, _ := inputs.Data("Secret", component.AdminKubeconfigSecret)
	admin, err := connect(data[contract.KubeconfigKey])
	if err != nil {
		return fmt.Errorf("reach the hosted API server: %w", err)
	}
	return access.Bootstrap(ctx, admin)
}
