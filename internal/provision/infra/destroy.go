package infra

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// DestroyOptions name what goes. Everything else is found again by its tag, its parent or its name, so no inventory is needed.
type DestroyOptions struct {
	Name, InfraID         string
	ResourceGroup         string // main group; "" is the default name
	PreserveResourceGroup bool   // empty the main group of ours and keep it, even where the group is ours
	KeepVolumes           bool   // leave disks of volumes that are still there, and the main group with them
	DeleteResourceGroup   bool   // delete the main group even where it is not ours
	Adopt                 bool   // take untagged things that have this cluster's names for ours
	DNSZoneGroup          string
	PublicZoneID          string // "" looks into all zones of DNSZoneGroup
	VNetID, NSGID         string
	PrivateZoneID         string
	Brought               []string // ids on record as the user's own: whatever their names, they are never adopted
	// Inventory are ids on record as ours: where to look, and no proof, because a tenant can write a record.
	Inventory []string
	// Vouched are those of the inventory that the one who destroys has on a file of his own: these are ours.
	Vouched []string
	// GroupUnproven: ResourceGroup was read from what a tenant can write, and is not the user's own word.
	GroupUnproven bool
	// Confirm asks whether a group goes that nothing proves to be ours, with everything in it; nil is no.
	Confirm func(Unproven) bool
	Show    func(Adoption) // told what an adoption deletes, before it does; nil is silent
	Warn    func(string)   // told what cannot be looked at and may be left; nil is silent
}

// Destroy removes role assignments first, then the resources; absent things are success. A group that neither carries the mark
// of this cluster's stack nor is on record is emptied of what is ours and stays.
func Destroy(ctx context.Context, s *azure.Session, o DestroyOptions, progress func(stack.Event)) error {
	d, roles, err := survey(ctx, s, o)
	if err != nil {
		return err
	}
	opts := node.Options(progress)
	roleErr := stack.Destroy(ctx, roles, opts)
	// Machines and roles take their time to go; what has come to the groups meanwhile is found only now.
	if err := d.find(ctx); err != nil {
		return errors.Join(roleErr, err)
	}
	d.showAdopted()
	return errors.Join(roleErr, stack.Destroy(ctx, d.nodes(), opts), d.leftError())
}

// PlanDestroy says what DestroyInfra would remove; what it would refuse is the error.
func PlanDestroy(ctx context.Context, s *azure.Session, o DestroyOptions) ([]stack.Step, error) {
	d, roles, err := survey(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if err := d.find(ctx); err != nil {
		return nil, err
	}
	d.showAdopted()
	return node.Deletions(append(roles, d.nodes()...)), d.leftError()
}

// survey finds the role assignments, and prepares to find the rest.
func survey(ctx context.Context, s *azure.Session, o DestroyOptions) (*demolition, []*stack.Node, error) {
	for _, f := range []struct {
		name  field.Field
		value string
	}{{FieldName, o.Name}, {FieldInfraID, o.InfraID}} {
		if f.value == "" {
			return nil, nil, f.name.Wrong("is required: it names the resources to destroy")
		}
	}
	if err := cmp.Or(rules.InfraID(FieldInfraID, o.InfraID), rules.Group(FieldResourceGroup, o.ResourceGroup)); err != nil {
		return nil, nil, err
	}
	i := newLayout(s, Options{Name: o.Name, InfraID: o.InfraID, ResourceGroup: o.ResourceGroup, VNetID: o.VNetID, NSGID: o.NSGID})
	if o.Adopt {
		o.disown(i)
	}
	known := i.scopes(o.DNSZoneGroup)
	if o.PrivateZoneID != "" {
		known = append(known, o.PrivateZoneID)
	}
	roles, err := roles.Left(ctx, s, o.InfraID, known)
	if err != nil {
		return nil, nil, err
	}
	d := &demolition{DestroyOptions: o, s: s, main: i.main, recorded: map[string]bool{}, found: map[string]bool{}, children: map[string]bool{}}
	for _, id := range o.Vouched {
		d.recorded[strings.ToLower(id)] = true
	}
	return d, append(roles, d.recordedRoles(roles)...), nil
}

// disown takes what has the names of a stack for no property of the user: the HostedCluster names it as it names what he brought. What is
// on record as his stays his.
func (o *DestroyOptions) disown(i *layout) {
	for _, f := range []struct {
		id   *string
		name string
	}{{&o.VNetID, o.Name + "-" + o.InfraID}, {&o.NSGID, o.Name + "-" + o.InfraID + "-nsg"}} {
		if strings.EqualFold(path.Base(*f.id), f.name) && !o.wasBrought(*f.id) {
			*f.id = ""
		}
	}
	zone, err := azure.ParseID(o.PrivateZoneID)
	if err == nil && strings.EqualFold(zone.ResourceGroup, i.main) && namedAsZone(zone.Name, o.Name) && !o.wasBrought(o.PrivateZoneID) {
		o.PrivateZoneID = ""
	}
}

// wasBrought tells whether a resource is on record as the user's own.
func (o *DestroyOptions) wasBrought(id string) bool {
	return slices.ContainsFunc(o.Brought, func(theirs string) bool { return strings.EqualFold(theirs, id) })
}

// assignmentInID is what stands between the scope and the name in the id of a role assignment.
const assignmentInID = "/providers/microsoft.authorization/roleassignments/"

// recordedRoles are those on record that no listing has shown. Their names prove that they are this cluster's.
func (d *demolition) recordedRoles(listed []*stack.Node) []*stack.Node {
	seen := map[string]bool{}
	for _, n := range listed {
		seen[n.ID] = true
	}
	var nodes []*stack.Node
	for _, id := range append(slices.Clone(d.Inventory), d.Vouched...) {
		at := strings.LastIndex(strings.ToLower(id), assignmentInID)
		if at < 0 {
			continue
		}
		a := azure.Assignment{Scope: id[:at], Name: id[at+len(assignmentInID):]}
		if !roles.IsNamed(d.InfraID, a) {
			d.warn("the record names role assignment " + id + ", whose name is none of this cluster's; it stays")
			continue
		}
		if nodeID := "role/" + strings.ToLower(a.Scope) + "/" + a.Name; !seen[nodeID] {
			seen[nodeID] = true
			nodes = append(nodes, &stack.Node{ID: nodeID, Kind: "role assignment", Name: a.Name + " on " + a.Scope, Resource: id,
				Delete: func(ctx context.Context) error { return d.s.Unassign(ctx, a) }})
		}
	}
	return nodes
}

// scopes are the groups on which this cluster's roles are known to be given.
func (i *layout) scopes(dnsGroup string) []string {
	var out []string
	for _, name := range []string{i.main, i.nsgGroup(), i.vnetGroup(), dnsGroup} {
		if name != "" {
			out = append(out, i.s.GroupID(name))
		}
	}
	return append(out, i.out.VNetID)
}

// demolition collects what goes, in stages that follow each other.
type demolition struct {
	DestroyOptions
	s        *azure.Session
	main     string
	recorded map[string]bool // lower-cased ids that the user vouches for
	found    map[string]bool // lower-cased ids of what goes, groups among it
	children map[string]bool // lower-cased ids of what is inside something adopted, and goes with it
	stages   [][]*stack.Node
	records  []*stack.Node // of DNS, which nothing waits for
	left     []string      // groups of our name that are not marked as ours
	unproven []Unproven    // groups that are said to be ours, and stay
	adopted  []Adoption
}

// find collects what goes. The VNet's group goes after the machines that hang in it, the NSG's after the VNet.
func (d *demolition) find(ctx context.Context) error {
	if err := d.addRules(ctx); err != nil {
		return err
	}
	if err := d.addDelegation(ctx); err != nil {
		return err
	}
	if err := d.addForeignLink(ctx); err != nil {
		return err
	}
	for _, name := range []string{d.main, d.Name + "-vnet-" + d.InfraID, d.Name + "-nsg-" + d.InfraID} {
		if err := d.addGroup(ctx, name); err != nil {
			return err
		}
	}
	return d.addRecords(ctx)
}

// addForeignLink finds our link in a private zone that the user has brought: it stays when its groups go.
func (d *demolition) addForeignLink(ctx context.Context) error {
	if zone, err := azure.ParseID(d.PrivateZoneID); err != nil || !strings.EqualFold(zone.Type, node.TypePrivateDNS) {
		return nil
	}
	id := d.PrivateZoneID + "/virtualNetworkLinks/" + d.Name + "-" + d.InfraID
	found, err := d.s.Get(ctx, id, node.APIPrivateDNS)
	if failure.IsNotFound(err) {
		return nil
	}
	if err != nil || !d.marked(found) {
		return err
	}
	d.addStage(d.deletion(id, "virtual network link", d.Name+"-"+d.InfraID, node.APIPrivateDNS))
	return nil
}

func (d *demolition) deletion(id, kind, name, api string) *stack.Node {
	d.found[strings.ToLower(id)] = true
	return &stack.Node{ID: id, Kind: kind, Name: name, Resource: id, Delete: func(ctx context.Context) error { return d.s.Delete(ctx, id, api) }}
}

func (d *demolition) addStage(nodes ...*stack.Node) {
	if len(nodes) > 0 {
		d.stages = append(d.stages, nodes)
	}
}

// showAdopted lists what is taken for ours, before anything of it goes.
func (d *demolition) showAdopted() {
	if d.Show == nil {
		return
	}
	for _, a := range d.adopted {
		d.Show(a)
	}
}

// leftError says what was left because nothing shows that it is ours.
func (d *demolition) leftError() error {
	var problems []error
	if len(d.left) > 0 {
		problems = append(problems, field.Errorf(FieldAdopt, "kept the resource groups %s: they have this cluster's names but not the tag %s=owned, so another tool or hand made them; run again with %s to delete them with everything in them",
			strings.Join(d.left, ", "), ownerTag(d.InfraID), FieldAdopt))
	}
	for _, u := range d.unproven {
		problems = append(problems, field.Errorf(FieldConfirm, "kept the resource group %s: %s, but it has not the name %s that is given to a group which is made for this cluster, and whoever may write the HostedCluster or its record chose it; "+
			"look what is in it, then run again with %s to delete it with everything in it, or with %s to keep it", u.Group, u.Why, node.MainGroup(d.Name, d.InfraID), FieldConfirm, FieldPreserve))
	}
	return errors.Join(problems...)
}

// nodes chains the stages: Destroy runs dependents first, so what goes later is what the earlier one depends on.
func (d *demolition) nodes() []*stack.Node {
	all := slices.Clone(d.records)
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
