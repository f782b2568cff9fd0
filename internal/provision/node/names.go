package node

import "maps"

// StackTag marks what a long-lived stack made. It differs from the tag of a cluster's infrastructure, because it outlives the cluster.
func StackTag(stackName, owner string) string {
	return "hypershift.openshift.io_" + stackName + "_" + owner
}

// WithTag adds a mark of ownership to the user's tags.
func WithTag(users map[string]string, tag string) map[string]string {
	all := maps.Clone(users)
	if all == nil {
		all = map[string]string{}
	}
	all[tag] = "owned"
	return all
}

// MainGroup is the default name of the managed resource group.
func MainGroup(name, infraID string) string { return name + "-" + infraID }
