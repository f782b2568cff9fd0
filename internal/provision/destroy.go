package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// DestroyOptions name what goes. Everything else is found again by its tag, its parent or its name, so no inventory is needed.
type DestroyOptions struct {
	Name, InfraID         string
	ResourceGroup         string // main group; "" is the default name
	PreserveResourceGroup bool   // empty the main group of ours and keep it, even where the group is ours
	DeleteResourceGroup   bool   // delete the main group even where it is not ours
	Adopt                 bool   // take untagged things that have this cluster's names for ours
	DNSZoneGroup          string
	VNetID, NSGID         string
	Show                  func(group string, resources []string) // told what an adoption deletes, before it does; nil is silent
}

// DestroyInfra removes role assignments first, then the resources; absent things are success. A group that does not carry the
// mark of this cluster's stack is emptied of what is ours and stays.
func DestroyInfra(ctx context.Context, s *azure.Session, o DestroyOptions, progress func(stack.Event)) error {
	i, err := newInfra(s, InfraOptions{Name: o.Name, InfraID: o.InfraID, ResourceGroup: o.ResourceGroup, VNetID: o.VNetID, NSGID: o.NSGID})
	if err != nil {
		return err
	}
	opts := options(progress)
	roles, err := leftRoles(ctx, s, o.InfraID, i.scopes(o.DNSZoneGroup))
	if err != nil {
		return err
	}
	roleErr := stack.Destroy(ctx, roles, opts)
	d := &demolition{DestroyOptions: o, s: s, main: i.main}
	// The VNet's group goes after the machines that hang in it, the NSG's after the VNet.
	for _, name := range []string{i.main, o.Name + "-vnet-" + o.InfraID, o.Name + "-nsg-" + o.InfraID} {
		if err := d.addGroup(ctx, name); err != nil {
			return errors.Join(roleErr, err)
		}
	}
	return errors.Join(roleErr, stack.Destroy(ctx, d.nodes(), opts), d.leftError())
}

// scopes are the groups on which this cluster's roles are known to be given.
func (i *infra) scopes(dnsGroup string) []string {
	var out []string
	for _, name := range []string{i.main, i.nsgGroup(), i.vnetGroup(), dnsGroup} {
		if name != "" {
			out = append(out, i.s.GroupID(name))
		}
	}
	return out
}

// demolition collects what goes, in stages that follow each other.
type demolition struct {
	DestroyOptions
	s      *azure.Session
	main   string
	stages [][]*stack.Node
	left   []string // groups of our name that are not marked as ours
}

// addGroup decides whether a group goes as a whole, is emptied of ours, or is left.
func (d *demolition) addGroup(ctx context.Context, name string) error {
	found, err := d.s.Get(ctx, d.s.GroupID(name), apiGroups)
	if azure.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	whole, err := d.goesWhole(ctx, name, found.Tags[ownerTag(d.InfraID)] == "owned")
	if err != nil {
		return err
	}
	if whole {
		d.stages = append(d.stages, []*stack.Node{{ID: "group/" + name, Kind: "resource group", Name: name,
			Delete: func(ctx context.Context) error { return d.s.Delete(ctx, d.s.GroupID(name), apiGroups) }}})
		return nil
	}
	return d.addOwned(ctx, name)
}

func (d *demolition) goesWhole(ctx context.Context, name string, marked bool) (bool, error) {
	isMain := strings.EqualFold(name, d.main)
	if isMain && d.PreserveResourceGroup {
		return false, nil
	}
	holds, err := d.holdsBrought(ctx, name)
	if err != nil || holds {
		return false, err
	}
	// A group of another name was the user's choice; one of the default name was made for this cluster by some tool.
	chosen := isMain && !strings.EqualFold(name, MainGroup(d.Name, d.InfraID))
	switch {
	case marked, isMain && d.DeleteResourceGroup:
		return true, nil
	case chosen:
		return false, nil
	case !d.Adopt:
		d.left = append(d.left, name)
		return false, nil
	}
	if d.Show == nil {
		return true, nil
	}
	all, err := d.s.List(ctx, d.s.GroupID(name)+"/resources", apiGroups, "")
	if err != nil {
		return false, err
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	d.Show(name, ids)
	return true, nil
}

// holdsBrought tells whether the user's own network is in the group: then the group must not go.
func (d *demolition) holdsBrought(ctx context.Context, group string) (bool, error) {
	for _, id := range []string{d.VNetID, d.NSGID} {
		parsed, err := azure.ParseID(id)
		if err != nil || !strings.EqualFold(parsed.ResourceGroup, group) {
			continue
		}
		found, err := d.s.Get(ctx, id, apiNetwork)
		if err != nil && !azure.IsNotFound(err) {
			return false, err
		}
		if err == nil && !d.marked(found) {
			return true, nil
		}
	}
	return false, nil
}

// leftError says what was left because nothing shows that it is ours.
func (d *demolition) leftError() error {
	if len(d.left) == 0 {
		return nil
	}
	return fmt.Errorf("kept the resource groups %s: they have this cluster's names but not the tag %s=owned, so another tool or hand made them; run again with --adopt to delete them with everything in them",
		strings.Join(d.left, ", "), ownerTag(d.InfraID))
}

// nodes chains the stages: Destroy runs dependents first, so what goes later is what the earlier one depends on.
func (d *demolition) nodes() []*stack.Node {
	var all []*stack.Node
	for k, nodes := range d.stages {
		for _, n := range nodes {
			if k+1 < len(d.stages) {
				for _, next := range d.stages[k+1] {
					n.DependsOn = append(n.DependsOn, next.ID)
				}
			}
			all = append(all, n)
		}
	}
	return all
}

// deletable are the resource types in the order in which they let go of each other. Types that users bring count as ours by
// the tag only; the others also by the infra id in their name, which is how the controllers in the cluster name what they make.
var deletable = []struct {
	kind, api string
	tagOnly   bool
}{
	{"virtualnetworklinks", apiPrivateDNS, true},
	{"virtualmachines", "2024-03-01", false},
	{"networkinterfaces", apiNetwork, false},
	{"loadbalancers", apiNetwork, false},
	{"publicipaddresses", apiNetwork, false},
	{"disks", "2023-10-02", false},
	{"virtualnetworks", apiNetwork, true}, // before the NSG: its subnets hold on to it
	{"networksecuritygroups", apiNetwork, true},
	{"privatednszones", apiPrivateDNS, true},
	{"storageaccounts", apiStorage, false},
}

func kindOf(r *azure.Resource) string {
	return strings.ToLower(r.Type[strings.LastIndex(r.Type, "/")+1:])
}

// addOwned finds what is ours in a group that stays, type by type.
func (d *demolition) addOwned(ctx context.Context, groupName string) error {
	all, err := d.s.List(ctx, d.s.GroupID(groupName)+"/resources", apiGroups, "")
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
	for _, t := range deletable {
		var nodes []*stack.Node
		seen := map[string]bool{}
		for _, r := range all {
			if kindOf(&r) != t.kind || seen[strings.ToLower(r.ID)] || !d.owns(&r, t.tagOnly && !d.Adopt) {
				continue
			}
			seen[strings.ToLower(r.ID)] = true
			nodes = append(nodes, &stack.Node{ID: r.ID, Kind: t.kind, Name: r.Name,
				Delete: func(ctx context.Context) error { return d.s.Delete(ctx, r.ID, t.api) }})
		}
		if len(nodes) > 0 {
			d.stages = append(d.stages, nodes)
		}
	}
	return nil
}

// linksOf are the links of our private zones: whoever made them, a zone cannot go before them.
func (d *demolition) linksOf(ctx context.Context, all []azure.Resource) ([]azure.Resource, error) {
	var links []azure.Resource
	for _, zone := range all {
		if kindOf(&zone) != "privatednszones" || !d.owns(&zone, !d.Adopt) {
			continue
		}
		found, err := d.s.List(ctx, zone.ID+"/virtualNetworkLinks", apiPrivateDNS, "")
		if err != nil && !azure.IsNotFound(err) {
			return nil, err
		}
		for _, link := range found {
			link.Tags = map[string]string{ownerTag(d.InfraID): "owned"} // a child of what is ours is ours
			links = append(links, link)
		}
	}
	return links, nil
}

func (d *demolition) marked(r *azure.Resource) bool {
	return r.Tags[ownerTag(d.InfraID)] == "owned" || r.Tags["sigs.k8s.io_cluster-api-provider-azure_cluster_"+d.InfraID] == "owned"
}

// owns compares whole words of the name, so that a short infra id does not hit a foreign resource.
func (d *demolition) owns(r *azure.Resource, tagOnly bool) bool {
	if d.marked(r) {
		return true
	}
	if tagOnly {
		return false
	}
	for _, theirs := range []string{d.VNetID, d.NSGID} {
		if theirs != "" && strings.EqualFold(r.ID, theirs) {
			return false
		}
	}
	if kindOf(r) == "privatednszones" && (strings.HasPrefix(r.Name, d.Name+".") || strings.HasPrefix(r.Name, d.Name+"-azurecluster.")) {
		return true
	}
	name := "-" + r.Name + "-"
	return strings.Contains(name, "-"+d.InfraID+"-") || strings.Contains(name, "-"+d.InfraID+"_")
}
