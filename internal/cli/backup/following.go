package backup

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
)

// following finds out which nodes follow an API server whose etcd began with a backup: in the backup every node is as it was then, Ready. A node
// renews its lease every ten seconds, and one that is not as it was in the backup was renewed since.
type following struct {
	// leases reads the leases of the nodes in the hosted cluster.
	leases func(ctx context.Context, hc *hyperv1.HostedCluster) ([]coordinationv1.Lease, error)

	first map[string]string
	back  map[string]bool
}

// count is how many nodes follow by now.
func (f *following) count(ctx context.Context, hc *hyperv1.HostedCluster) (int, error) {
	leases, err := f.leases(ctx, hc)
	if err != nil {
		return 0, fmt.Errorf("see which nodes follow the new control plane: %w", err)
	}
	if f.first == nil {
		f.first, f.back = map[string]string{}, map[string]bool{}
		for _, lease := range leases {
			f.first[lease.Name] = renewal(lease)
		}
	}
	for _, lease := range leases {
		if renewal(lease) != f.first[lease.Name] {
			f.back[lease.Name] = true
		}
	}
	return len(f.back), nil
}

func renewal(lease coordinationv1.Lease) string {
	return ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).String()
}

// nodeLeases asks the hosted cluster as its administrator.
func (r *restoration) nodeLeases(ctx context.Context, hc *hyperv1.HostedCluster) ([]coordinationv1.Lease, error) {
	if r.hosted == nil {
		raw, err := management.AdminKubeconfig(ctx, r.client, hc)
		if err != nil {
			return nil, err
		}
		if r.hosted, err = management.ConnectHosted(raw); err != nil {
			return nil, err
		}
	}
	list := &coordinationv1.LeaseList{}
	if err := r.hosted.Client.List(ctx, list, client.InNamespace(corev1.NamespaceNodeLease)); err != nil {
		return nil, fmt.Errorf("the hosted cluster does not answer: %w", err)
	}
	return list.Items, nil
}
