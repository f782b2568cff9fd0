package infra

import (
	"context"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// deletable are the resource types in the order in which they let go of each other. Types that users bring count as ours by
// the tag only; the others also by the infra id in their name, which is how the controllers in the cluster name what they make.
var deletable = []struct {
	kind, api string
	tagOnly   bool
}{
	{"virtualnetworklinks", node.APIPrivateDNS, true},
	{"virtualmachines", "2024-03-01", false},
	{"networkinterfaces", node.APINetwork, false},
	{"loadbalancers", node.APINetwork, false},
	{"publicipaddresses", node.APINetwork, false},
	{"disks", "2023-10-02", false},
	{"virtualnetworks", node.APINetwork, true}, // before the NSG: its subnets hold on to it
	{"networksecuritygroups", node.APINetwork, true},
	{"privatednszones", node.APIPrivateDNS, true},
	{"storageaccounts", node.APIStorage, false},
}

func kindOf(r *azure.Resource) string {
	return strings.ToLower(r.Type[strings.LastIndex(r.Type, "/")+1:])
}

// addOwned finds what is ours in a group that stays, type by type.
func (d *demolition) addOwned(ctx context.Context, groupName string) error {
	all, err := d.s.List(ctx, d.s.GroupID(groupName)+"/resources", node.APIGroups, "")
	if azure.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	links, err := d.linksOf(ctx, all)
	if err != nil {
		return err
	}
	all = append(all, links...)
	var adopted []string
	for _, t := range deletable {
		var nodes []*stack.Node
		for _, r := range all {
			if kindOf(&r) != t.kind || d.found[strings.ToLower(r.ID)] || !d.owns(&r, t.tagOnly && !d.Adopt) {
				continue
			}
			if t.tagOnly && !d.marked(&r) {
				adopted = append(adopted, r.ID)
			}
			nodes = append(nodes, d.deletion(r.ID, t.kind, r.Name, t.api))
		}
		d.addStage(nodes...)
	}
	if len(adopted) > 0 {
		d.adopted = append(d.adopted, Adoption{groupName, false, adopted})
	}
	return nil
}

// linksOf are the links of our private zones: whoever made them, a zone cannot go before them. Those of a zone that is only adopted are
// adopted with it.
func (d *demolition) linksOf(ctx context.Context, all []azure.Resource) ([]azure.Resource, error) {
	var links []azure.Resource
	for _, zone := range all {
		if kindOf(&zone) != "privatednszones" || !d.owns(&zone, !d.Adopt) {
			continue
		}
		found, err := d.s.List(ctx, zone.ID+"/virtualNetworkLinks", node.APIPrivateDNS, "")
		if err != nil && !azure.IsNotFound(err) {
			return nil, err
		}
		for _, link := range found {
			if d.marked(&zone) {
				link.Tags = map[string]string{ownerTag(d.InfraID): "owned"} // a child of what is ours is ours
			}
			d.children[strings.ToLower(link.ID)] = true
			links = append(links, link)
		}
	}
	return links, nil
}

func (d *demolition) marked(r *azure.Resource) bool {
	return d.recorded[strings.ToLower(r.ID)] || r.Tags[ownerTag(d.InfraID)] == "owned" || r.Tags["sigs.k8s.io_cluster-api-provider-azure_cluster_"+d.InfraID] == "owned"
}

// namedAsZone tells whether a private zone has the name that this or the former command gives to a cluster's.
func namedAsZone(zone, cluster string) bool {
	return strings.HasPrefix(zone, cluster+".") || strings.HasPrefix(zone, cluster+"-azurecluster.")
}

// owns compares whole words of the name, so that a short infra id does not hit a foreign resource.
func (d *demolition) owns(r *azure.Resource, tagOnly bool) bool {
	if d.marked(r) || d.children[strings.ToLower(r.ID)] {
		return true
	}
	if tagOnly || d.wasBrought(r.ID) {
		return false
	}
	for _, theirs := range []string{d.VNetID, d.NSGID} {
		if theirs != "" && strings.EqualFold(r.ID, theirs) {
			return false
		}
	}
	if kindOf(r) == "privatednszones" && namedAsZone(r.Name, d.Name) {
		return true
	}
	// The stack names its address and its load balancer so, and marks them; without the mark they are the user's.
	if kind := kindOf(r); r.Name == d.InfraID && (kind == "loadbalancers" || kind == "publicipaddresses") {
		return d.Adopt
	}
	name := "-" + r.Name + "-"
	return strings.Contains(name, "-"+d.InfraID+"-") || strings.Contains(name, "-"+d.InfraID+"_")
}
