// Package names makes the names of a node pool's objects.
package names

import (
	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

const (
	maxObjectName = 253
	// A label key of the machines: Cluster API derives names of 63 characters from it.
	maxResourceLabel = 43
)

// Reference is how annotations name a pool.
func Reference(np *hyperv1.NodePool) string { return np.Namespace + "/" + np.Name }

// Token is the name of the Secret with the pool's token for a configuration.
func Token(np *hyperv1.NodePool, hash string) string { return Shorten("token-"+np.Name, hash) }

// UserData is the name of the Secret that machines start with.
func UserData(np *hyperv1.NodePool, hash string) string {
	return Shorten("user-data-"+np.Name, hash)
}

// Shorten joins base and suffix; a base that is too long loses its end.
func Shorten(base, suffix string) string {
	if limit := maxObjectName - len(suffix) - 1; len(base) > limit {
		base = base[:limit]
	}
	return base + "-" + suffix
}

// ResourceLabel is key and value of the label that selects a pool's machines.
func ResourceLabel(infraID, cluster, pool string) string {
	base := infraID + "-" + cluster
	full := base + "-" + pool
	if len(full) <= maxResourceLabel {
		return full
	}
	if len(pool) >= 33 {
		return base[:min(34, len(base))] + "-" + ignition.Hash(full)
	}
	return base[:min(33-len(pool), len(base))] + "-" + ignition.Hash(base) + "-" + pool
}
