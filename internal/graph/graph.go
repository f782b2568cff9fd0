// Package graph draws what a hosted cluster consists of: in Azure, on the management cluster and inside of it.
package graph

import (
	"fmt"
	"path"

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

// Of is the graph of a hosted cluster with the workloads of its control plane.
func Of(cluster *survey.Cluster, workloads []Workload) *Graph {
	d := &drawing{Graph{Title: cluster.Namespace + "/" + cluster.Name}}
	state := map[string]State{"True": Good, "False": Bad}[cluster.Available]
	if state == "" {
		state = Unknown
	}
	hosted := d.add(Management, "HostedCluster", cluster.Name, cluster.Version, state)
	d.controlPlane(hosted, workloads)
	api := d.add(Guest, "API server", cluster.Endpoint, "", state)
	d.join(hosted, api, "serves")
	subnet := d.network(hosted, cluster)
	for i := range cluster.NodePools {
		d.pool(hosted, subnet, &cluster.NodePools[i])
	}
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

// network is what the HostedCluster names in Azure; the id of the subnet is returned.
func (d *drawing) network(hosted string, cluster *survey.Cluster) string {
	spec := cluster.Object.Spec
	if spec.Platform.Azure == nil {
		return ""
	}
	p := spec.Platform.Azure
	named := func(kind, id string) string {
		if id == "" {
			return ""
		}
		return d.add(Azure, kind, path.Base(id), "", Unknown)
	}
	group := named("Resource group", p.ResourceGroupName)
	d.join(hosted, group, p.Location)
	vnet, nsg := named("Virtual network", p.VnetID), named("Network security group", p.SecurityGroupID)
	subnet := named("Subnet", p.SubnetID)
	d.join(hosted, vnet, "uses")
	d.join(vnet, subnet, "has")
	d.join(nsg, subnet, "guards")
	private, public := named("Private DNS zone", spec.DNS.PrivateZoneID), named("DNS zone", spec.DNS.PublicZoneID)
	d.join(private, vnet, "linked to")
	d.join(hosted, public, "publishes in")
	return subnet
}

// pool is a node pool with its machines: each is a virtual machine in Azure and a node inside.
func (d *drawing) pool(hosted, subnet string, pool *survey.Pool) {
	state := Coming
	if pool.Progress == survey.Ready {
		state = Good
	}
	id := d.add(Management, "NodePool", pool.Name, fmt.Sprintf("%d of %d, %s", pool.Nodes, pool.Wanted, pool.Version), state)
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
