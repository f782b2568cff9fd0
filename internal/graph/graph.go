// Package graph draws what a hosted cluster consists of: in Azure, on the management cluster and inside of it.
package graph

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// Side is where a thing is.
type Side string

// The three sides, in the order in which they are drawn.
const (
	Management Side = "Management cluster"
	Azure      Side = "Azure"
	Guest      Side = "Hosted cluster"
)

// State is how a thing is, as far as the management cluster knows.
type State string

// States: Unknown is what the management cluster does not watch.
const (
	Good    State = "good"
	Coming  State = "coming"
	Bad     State = "bad"
	Unknown State = "unknown"
)

// Node is one thing. ID is unique in its graph and has letters, digits and _ alone.
type Node struct {
	ID         string
	Side       Side
	Kind, Name string
	// Note is a few words more, such as a version; State its colour.
	Note  string
	State State
}

// Edge leads from what decides to what follows.
type Edge struct {
	From, To, Label string
}

// Graph is the picture of one hosted cluster.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
}

// Workload is a Deployment or a StatefulSet of the control plane.
type Workload struct {
	Kind, Name    string
	Wanted, Ready int32
}

// Resource is one of Azure's, of the cluster's resource group: its type, such as Microsoft.Compute/disks, and how far Azure has come with it,
// such as Succeeded, "" where that is not known.
type Resource struct {
	Type, Name, Provisioning string
}

// drawing adds nodes and hands out their ids.
type drawing struct{ Graph }

func (d *drawing) add(side Side, kind, name, note string, state State) string {
	id := fmt.Sprintf("n%d", len(d.Nodes))
	d.Nodes = append(d.Nodes, Node{ID: id, Side: side, Kind: kind, Name: name, Note: note, State: state})
	return id
}

func (d *drawing) join(from, to, label string) {
	if from != "" && to != "" {
		d.Edges = append(d.Edges, Edge{From: from, To: to, Label: label})
	}
}

// Of is the graph of a hosted cluster with the workloads of its control plane, and what Azure says of its resources: none where it is not asked.
func Of(cluster *survey.Cluster, workloads []Workload, resources []Resource) *Graph {
	d := &drawing{Graph{Title: cluster.Namespace + "/" + cluster.Name}}
	state := map[string]State{"True": Good, "False": Bad}[cluster.Available]
	if state == "" {
		state = Unknown
	}
	hosted := d.add(Management, "HostedCluster", cluster.Name, cluster.Version, state)
	d.controlPlane(hosted, workloads)
	api := d.add(Guest, "API server", cluster.Endpoint, "", state)
	d.join(hosted, api, "serves")
	group, subnet := d.network(hosted, cluster)
	for i := range cluster.NodePools {
		d.pool(hosted, subnet, &cluster.NodePools[i])
	}
	d.rest(group, resources)
	return &d.Graph
}

func (d *drawing) controlPlane(hosted string, workloads []Workload) {
	for _, w := range workloads {
		state := Good
		switch {
		case w.Wanted > 0 && w.Ready == 0:
			state = Bad
		case w.Ready < w.Wanted:
			state = Coming
		}
		d.join(hosted, d.add(Management, w.Kind, w.Name, fmt.Sprintf("%d of %d", w.Ready, w.Wanted), state), "runs")
	}
}

// kinds are what people call the types of resources that a hosted cluster has. Those of another type are called by its last word.
var kinds = map[string]string{
	"microsoft.compute/virtualmachines": "Virtual machine", "microsoft.compute/disks": "Disk", "microsoft.network/networkinterfaces": "Network interface",
	"microsoft.network/loadbalancers": "Load balancer", "microsoft.network/publicipaddresses": "Public IP address", "microsoft.network/virtualnetworks": vnetKind,
	"microsoft.network/networksecuritygroups": nsgKind, "microsoft.network/privatednszones": privateZoneKind, "microsoft.network/dnszones": zoneKind,
	"microsoft.network/natgateways": "NAT gateway", "microsoft.network/routetables": "Route table",
}

const (
	vnetKind, nsgKind         = "Virtual network", "Network security group"
	privateZoneKind, zoneKind = "Private DNS zone", "DNS zone"
)

// rest are Azure's resources that are not drawn yet: disks, load balancers, addresses, and what nobody on the management cluster names.
func (d *drawing) rest(group string, resources []Resource) {
	drawn := map[[2]string]bool{}
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Side == Azure {
			drawn[[2]string{n.Kind, strings.ToLower(n.Name)}] = true
		}
	}
	for _, r := range resources {
		kind := cmp.Or(kinds[strings.ToLower(r.Type)], path.Base(r.Type))
		if drawn[[2]string{kind, strings.ToLower(r.Name)}] {
			continue
		}
		state := map[string]State{"Succeeded": Good, "Failed": Bad, "Canceled": Bad, "": Unknown}[r.Provisioning]
		d.join(group, d.add(Azure, kind, path.Base(r.Name), r.Provisioning, cmp.Or(state, Coming)), "has")
	}
}

// network is what the HostedCluster names in Azure; the ids of the group and of the subnet are returned.
func (d *drawing) network(hosted string, cluster *survey.Cluster) (group, subnet string) {
	spec := cluster.Object.Spec
	if spec.Platform.Azure == nil {
		return "", ""
	}
	p := spec.Platform.Azure
	named := func(kind, id string) string {
		if id == "" {
			return ""
		}
		return d.add(Azure, kind, path.Base(id), "", Unknown)
	}
	group = named("Resource group", p.ResourceGroupName)
	d.join(hosted, group, p.Location)
	vnet, nsg := named(vnetKind, p.VnetID), named(nsgKind, p.SecurityGroupID)
	subnet = named("Subnet", p.SubnetID)
	d.join(hosted, vnet, "uses")
	d.join(vnet, subnet, "has")
	d.join(nsg, subnet, "guards")
	private, public := named(privateZoneKind, spec.DNS.PrivateZoneID), named(zoneKind, spec.DNS.PublicZoneID)
	d.join(private, vnet, "linked to")
	d.join(hosted, public, "publishes in")
	return group, subnet
}

// pool is a node pool with its machines: each is a virtual machine in Azure and a node inside.
func (d *drawing) pool(hosted, subnet string, pool *survey.Pool) {
	state := Coming
	if pool.Progress == survey.Ready {
		state = Good
	}
	wanted := fmt.Sprint(pool.Wanted)
	if pool.Wanted < 0 { // with autoscaling
		wanted = fmt.Sprintf("%d to %d", pool.Minimum, pool.Maximum)
	}
	id := d.add(Management, "NodePool", pool.Name, fmt.Sprintf("%d of %s, %s", pool.Nodes, wanted, pool.Version), state)
	d.join(hosted, id, "has")
	for i := range pool.Machines {
		m := &pool.Machines[i]
		state := map[string]State{survey.Ready: Good, survey.Failed: Bad}[m.Stage]
		if state == "" {
			state = Coming
		}
		machine := d.add(Management, "Machine", m.Name, m.Stage, state)
		d.join(id, machine, "has")
		if m.VM == "" {
			continue
		}
		vm := d.add(Azure, "Virtual machine", m.VM, m.Size, state)
		d.join(machine, vm, "is")
		d.join(vm, subnet, "in")
		if m.Node != "" {
			d.join(vm, d.add(Guest, "Node", m.Node, m.Version, state), "runs")
		}
	}
}
