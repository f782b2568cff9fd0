package provision

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// DestroyOptions name what goes. The ids, where known, tell which groups the cluster's roles were given on.
type DestroyOptions struct {
	Name, InfraID         string
	ResourceGroup         string // main group; "" is the default name
	PreserveResourceGroup bool   // empty the main group of ours and keep it, even where the group is ours
	DNSZoneGroup          string
	VNetID, NSGID         string
}

// DestroyInfra removes role assignments first, then the resources; absent things are success.
func DestroyInfra(ctx context.Context, s *azure.Session, o DestroyOptions, progress func(stack.Event)) error {
	i, err := newInfra(s, InfraOptions{Name: o.Name, InfraID: o.InfraID, ResourceGroup: o.ResourceGroup, VNetID: o.VNetID, NSGID: o.NSGID})
	if err != nil {
		return err
	}
	opts := options(progress)
	roleErr := stack.Destroy(ctx, i.roleNodesOfAll(o.DNSZoneGroup), opts)
	nodes := []*stack.Node{
		wholeGroup(s, o.Name+"-vnet-"+o.InfraID),
		wholeGroup(s, o.Name+"-nsg-"+o.InfraID),
	}
	// The VNet's group goes after the machines that hang in it, the NSG's after the VNet.
	nodes[1].DependsOn = nil
	nodes[0].DependsOn = []string{nodes[1].ID}
	preserve := o.PreserveResourceGroup
	if !preserve {
		// A group that somebody else made is emptied of ours and stays.
		mine, err := ownsGroup(ctx, s, i.main, o.InfraID)
		if err != nil {
			return errors.Join(roleErr, err)
		}
		preserve = !mine
	}
	if preserve {
		inner, err := ownedNodes(ctx, s, i.main, o)
		if err != nil {
			return errors.Join(roleErr, err)
		}
		nodes = append(nodes, inner...)
	} else {
		main := wholeGroup(s, i.main)
		main.DependsOn = []string{nodes[0].ID, nodes[1].ID}
		nodes = append(nodes, main)
	}
	return errors.Join(roleErr, stack.Destroy(ctx, nodes, opts))
}

// ownsGroup tells whether the group carries the mark of this cluster's stack, or is gone.
func ownsGroup(ctx context.Context, s *azure.Session, name, infraID string) (bool, error) {
	found, err := s.Get(ctx, s.GroupID(name), apiGroups)
	if azure.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return found.Tags[ownerTag(infraID)] == "owned", nil
}

// roleNodesOfAll covers every identity: the names of the assignments need no client id.
func (i *infra) roleNodesOfAll(dnsGroup string) []*stack.Node {
	anyone := &WorkloadIdentities{}
	for _, c := range components {
		anyone.set(c.key, c.key)
	}
	return roleNodes(i.s, i.InfraID, anyone, groups{scopeMain: i.main, scopeNSG: i.nsgGroup(), scopeVNet: i.vnetGroup(), scopeDNS: dnsGroup}, nil)
}

func wholeGroup(s *azure.Session, name string) *stack.Node {
	return &stack.Node{ID: "group/" + name, Kind: "resource group", Name: name,
		Delete: func(ctx context.Context) error { return s.Delete(ctx, s.GroupID(name), apiGroups) }}
}

// deleteOrder are the resource types in the order in which they let go of each other.
var deleteOrder = []string{"virtualnetworklinks", "virtualmachines", "networkinterfaces", "loadbalancers", "publicipaddresses",
	"disks", "networksecuritygroups", "virtualnetworks", "privatednszones", "storageaccounts"}

var deleteAPI = map[string]string{
	"virtualnetworklinks": apiPrivateDNS, "privatednszones": apiPrivateDNS, "virtualmachines": "2024-03-01",
	"networkinterfaces": apiNetwork, "loadbalancers": apiNetwork, "publicipaddresses": apiNetwork,
	"networksecuritygroups": apiNetwork, "virtualnetworks": apiNetwork, "disks": "2023-10-02", "storageaccounts": apiStorage,
}

// ownedNodes finds what is ours in a group that stays, and chains the types.
func ownedNodes(ctx context.Context, s *azure.Session, groupName string, o DestroyOptions) ([]*stack.Node, error) {
	all, err := s.List(ctx, s.GroupID(groupName)+"/resources", apiGroups, "")
	if azure.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var nodes []*stack.Node
	byRank := map[int][]string{}
	for _, r := range all {
		kind := strings.ToLower(r.Type[strings.LastIndex(r.Type, "/")+1:])
		rank := slices.Index(deleteOrder, kind)
		if rank < 0 || !owned(r, o) {
			continue
		}
		byRank[rank] = append(byRank[rank], r.ID)
		nodes = append(nodes, &stack.Node{ID: r.ID, Kind: kind, Name: r.Name,
			Delete: func(ctx context.Context) error { return s.Delete(ctx, r.ID, deleteAPI[kind]) }})
	}
	// Destroy runs dependents first: what goes later is what the earlier one depends on.
	for _, n := range nodes {
		rank := slices.Index(deleteOrder, n.Kind)
		for later, ids := range byRank {
			if later > rank {
				n.DependsOn = append(n.DependsOn, ids...)
			}
		}
	}
	return nodes, nil
}

// owned compares whole words of the name, so that a short infra id does not hit a foreign resource.
func owned(r azure.Resource, o DestroyOptions) bool {
	for _, theirs := range []string{o.VNetID, o.NSGID} {
		if theirs != "" && strings.EqualFold(r.ID, theirs) {
			return false
		}
	}
	if r.Tags[ownerTag(o.InfraID)] == "owned" || r.Tags["sigs.k8s.io_cluster-api-provider-azure_cluster_"+o.InfraID] == "owned" {
		return true
	}
	if strings.HasPrefix(r.Name, o.Name+".") || strings.HasPrefix(r.Name, o.Name+"-azurecluster.") {
		return true
	}
	name := "-" + r.Name + "-"
	return strings.Contains(name, "-"+o.InfraID+"-") || strings.Contains(name, "-"+o.InfraID+"_")
}
