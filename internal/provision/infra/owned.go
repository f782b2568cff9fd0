package infra

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// deletable are the resource types in the order in which they let go of each other.
var deletable = []struct{ kind, api string }{
	{"virtualnetworklinks", node.APIPrivateDNS},
	{"virtualmachines", "2024-03-01"},
	{"networkinterfaces", node.APINetwork},
	{"loadbalancers", node.APINetwork},
	{"publicipaddresses", node.APINetwork},
	{"disks", "2023-10-02"},
	{"virtualnetworks", node.APINetwork}, // before the NSG: its subnets hold on to it
	{"networksecuritygroups", node.APINetwork},
	{"privatednszones", node.APIPrivateDNS},
	{"dnszones", node.APIDNS},
	{"storageaccounts", node.APIStorage},
}

func kindOf(r *azure.Resource) string {
	return strings.ToLower(r.Type[strings.LastIndex(r.Type, "/")+1:])
}

// resourcesIn lists a group: nothing when it is gone, as it is when another run deletes it meanwhile.
func (d *demolition) resourcesIn(ctx context.Context, group string) ([]azure.Resource, error) {
	all, err := d.s.List(ctx, d.s.GroupID(group)+"/resources", node.APIGroups, "")
	if failure.IsNotFound(err) {
		return nil, nil
	}
	return all, err
}

// addOwned finds what is ours in a group that stays, type by type.
func (d *demolition) addOwned(ctx context.Context, groupName string) error {
	all, err := d.resourcesIn(ctx, groupName)
	if err != nil {
		return err
	}
	links, err := d.linksOf(ctx, all)
	if err != nil {
		return err
	}
	all = append(all, links...)
	d.noteDisks(all)
	var adopted []string
	for _, t := range deletable {
		var nodes []*stack.Node
		for _, r := range all {
			if kindOf(&r) != t.kind || d.found[strings.ToLower(r.ID)] || !d.owns(&r) {
				continue
			}
			if !d.marked(&r) && !d.generated(&r) {
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
		if kindOf(&zone) != "privatednszones" || !d.owns(&zone) {
			continue
		}
		found, err := d.s.List(ctx, zone.ID+"/virtualNetworkLinks", node.APIPrivateDNS, "")
		if err != nil && !failure.IsNotFound(err) {
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

// noteDisks counts the disks that Azure makes with our machines as ours: they have no tag, and the name that the machine provider gives.
func (d *demolition) noteDisks(all []azure.Resource) {
	disks := map[string]bool{}
	for i := range all {
		if kindOf(&all[i]) == "virtualmachines" && d.marked(&all[i]) {
			disks[strings.ToLower(all[i].Name+"_OSDisk")] = true
		}
	}
	for i := range all {
		if kindOf(&all[i]) == "disks" && disks[strings.ToLower(all[i].Name)] {
			all[i].Tags = map[string]string{ownerTag(d.InfraID): "owned"} // a child of what is ours is ours
		}
	}
}

// volumeTags are tags that the driver of Azure's disks gives to those of volumes, and to their snapshots.
var volumeTags = []string{"k8s-azure-created-by", "kubernetes.io-created-for-pv-name", "kubernetes.io-created-for-pvc-name"}

// keepsVolumes tells whether the main group stays for what it has of volumes: those that the hosted cluster has not removed itself, since their
// volumes say Retain or nobody asked it to. Where they go with the group, it says so.
func (d *demolition) keepsVolumes(ctx context.Context, group string) (bool, error) {
	all, err := d.resourcesIn(ctx, group)
	if err != nil {
		return false, err
	}
	var volumes []string
	for _, r := range all {
		if kind := kindOf(&r); kind != "disks" && kind != "snapshots" {
			continue
		}
		if slices.ContainsFunc(volumeTags, func(tag string) bool { return r.Tags[tag] != "" }) {
			volumes = append(volumes, r.Name)
		}
	}
	if len(volumes) == 0 {
		return false, nil
	}
	slices.Sort(volumes)
	names := strings.Join(volumes, ", ")
	if d.KeepVolumes {
		d.warn("resource group " + group + " stays for what it has of volumes: " + names)
	} else {
		d.warn("with resource group " + group + " goes what it has of volumes: " + names)
	}
	return d.KeepVolumes, nil
}

// marked tells whether the user vouches for a resource, or a tag says that our stack, the machine provider or the cloud provider made it
// for this cluster.
func (d *demolition) marked(r *azure.Resource) bool {
	if d.recorded[strings.ToLower(r.ID)] || r.Tags[ownerTag(d.InfraID)] == "owned" || r.Tags["sigs.k8s.io_cluster-api-provider-azure_cluster_"+d.InfraID] == "owned" {
		return true
	}
	return kindOf(r) == "publicipaddresses" && r.Tags["k8s-azure-cluster-name"] == d.InfraID
}

// namedAsZone tells whether a private zone has the name that this or the former command gives to a cluster's.
func namedAsZone(zone, cluster string) bool {
	return strings.HasPrefix(zone, cluster+".") || strings.HasPrefix(zone, cluster+"-azurecluster.")
}

// owns tells whether a resource is ours: by a mark, because it is inside something that is, or by exactly a name that the cluster's
// controllers generate. The infra id somewhere in a name says nothing: somebody may have called it prod.
func (d *demolition) owns(r *azure.Resource) bool {
	if d.marked(r) || d.children[strings.ToLower(r.ID)] {
		return true
	}
	if d.wasBrought(r.ID) {
		return false
	}
	for _, theirs := range []string{d.VNetID, d.NSGID} {
		if theirs != "" && strings.EqualFold(r.ID, theirs) {
			return false
		}
	}
	return d.generated(r) || d.Adopt && d.namedByATool(r)
}

// ofService completes the name of an address that the cloud provider makes for a Service of the cluster: 31 digits of its UID.
var ofService = regexp.MustCompile(`^-a[0-9a-f]{31}(-IPv6)?$`)

// generated tells whether the name is one that the cloud provider gives, which leaves some things of Services untagged.
func (d *demolition) generated(r *azure.Resource) bool {
	rest, ok := strings.CutPrefix(r.Name, d.InfraID)
	switch kindOf(r) {
	case "loadbalancers":
		return ok && rest == "-internal"
	case "publicipaddresses":
		return ok && ofService.MatchString(rest)
	}
	return false
}

// namedByATool tells whether a resource has the name that this command, or another tool for the same thing, gives a cluster's.
func (d *demolition) namedByATool(r *azure.Resource) bool {
	switch kindOf(r) {
	case "privatednszones":
		return namedAsZone(r.Name, d.Name)
	case "virtualnetworks":
		return r.Name == node.MainGroup(d.Name, d.InfraID)
	case "networksecuritygroups":
		return r.Name == node.MainGroup(d.Name, d.InfraID)+"-nsg"
	case "loadbalancers", "publicipaddresses":
		return r.Name == d.InfraID
	}
	return false
}

// IsOwned tells whether a resource has the mark of the infrastructure id, which is not empty.
func IsOwned(r *azure.Resource, infraID string) bool {
	return infraID != "" && r.Tags[ownerTag(infraID)] == "owned"
}

// OwnGroups are the names of the resource groups that the options lead to, without those that the user names.
func OwnGroups(s *azure.Session, o Options) []string {
	if o.ResourceGroup != "" {
		return nil
	}
	i := newLayout(s, o)
	names := []string{i.main}
	if o.NSGID == "" {
		names = append(names, i.nsgGroup())
	}
	if o.VNetID == "" {
		names = append(names, i.vnetGroup())
	}
	return names
}
