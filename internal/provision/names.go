package provision

import "maps"

// stackTag marks what a long-lived stack made. It differs from the tag of a cluster's infrastructure, because it outlives the cluster.
func stackTag(stackName, owner string) string {
	return "hypershift.openshift.io_" + stackName + "_" + owner
}

// withTag adds a mark of ownership to the user's tags.
func withTag(users map[string]string, tag string) map[string]string {
	all := maps.Clone(users)
	if all == nil {
		all = map[string]string{}
	}
	all[tag] = "owned"
	return all
}

// MainGroup is the default name of the managed resource group.
func MainGroup(name, infraID string) string { return name + "-" + infraID }
