package nodepool

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const maxConflictMessage = 256

// networkConflict tells of machines that can be reached at no address outside of the pods' network; it is absent while there are none.
func (r *Reconciler) networkConflict(_ context.Context, p *pass) error {
	var conflicts []string
	for _, m := range p.machines {
		if found := conflictOf(m, p.hc.Spec.Networking.ClusterNetwork); found != "" {
			conflicts = append(conflicts, found)
		}
	}
	if len(conflicts) == 0 {
		p.remove(hyperv1.NodePoolClusterNetworkCIDRConflict)
		return nil
	}
	p.set(hyperv1.NodePoolClusterNetworkCIDRConflict, corev1.ConditionTrue, hyperv1.InvalidConfigurationReason,
		kube.Cut(strings.Join(conflicts, ", "), maxConflictMessage, "..."))
	return nil
}

// conflictOf names the last address of a machine when all of them lie within the networks.
func conflictOf(m capiv1.Machine, networks []hyperv1.ClusterNetworkEntry) string {
	conflict := ""
	for _, known := range m.Status.Addresses {
		if known.Type != capiv1.MachineInternalIP && known.Type != capiv1.MachineExternalIP {
			continue
		}
		address, err := netip.ParseAddr(known.Address)
		if err != nil || address.IsLinkLocalUnicast() {
			continue
		}
		within := ""
		for _, network := range networks {
			if prefix, err := netip.ParsePrefix(string(network.CIDR)); err == nil && prefix.Contains(address) {
				within = string(network.CIDR)
			}
		}
		if within == "" {
			return ""
		}
		conflict = fmt.Sprintf("machine [%s] with ip [%s] collides with cluster-network cidr [%s]", m.Name, address, within)
	}
	return conflict
}
