package nodepool

import (
	"fmt"
	"hash/fnv"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	maxObjectName = 253
	// A label key of the machines: Cluster API derives names of 63 characters from it.
	maxResourceLabel = 43
)

// Hash is the 32-bit FNV-1a of the text as eight hex digits.
func Hash(text string) string {
	digest := fnv.New32a()
	digest.Write([]byte(text))
	return fmt.Sprintf("%08x", digest.Sum32())
}

// hashBytes hashes the printed list of the bytes, "[123 34 97]": the format published objects carry.
func hashBytes(content []byte) string { return Hash(fmt.Sprintf("%v", content)) }

func reference(np *hyperv1.NodePool) string { return np.Namespace + "/" + np.Name }

func tokenName(np *hyperv1.NodePool, hash string) string { return shorten("token-"+np.Name, hash) }
func userDataName(np *hyperv1.NodePool, hash string) string {
	return shorten("user-data-"+np.Name, hash)
}

// shorten joins base and suffix; a base that is too long loses its end.
func shorten(base, suffix string) string {
	if limit := maxObjectName - len(suffix) - 1; len(base) > limit {
		base = base[:limit]
	}
	return base + "-" + suffix
}

// resourceLabel is key and value of the label that selects a pool's machines.
func resourceLabel(infraID, cluster, pool string) string {
	base := infraID + "-" + cluster
	full := base + "-" + pool
	if len(full) <= maxResourceLabel {
		return full
	}
	if len(pool) >= 33 {
		return base[:min(34, len(base))] + "-" + Hash(full)
	}
	return base[:min(33-len(pool), len(base))] + "-" + Hash(base) + "-" + pool
}
