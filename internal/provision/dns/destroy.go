package dns

import (
	"context"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Destroy removes ExternalDNS's identity, the delegation and the zone. A zone that we did not make, or that still has records,
// stays unless force is given: with the zone the records of running clusters would go.
func Destroy(ctx context.Context, s *azure.Session, o Options, force bool, progress func(stack.Event)) error {
	nodes, err := whatGoes(ctx, s, o, force)
	if err != nil {
		return err
	}
	return stack.Destroy(ctx, nodes, node.Options(progress))
}

// PlanDestroy says what DestroyDNS would remove.
func PlanDestroy(ctx context.Context, s *azure.Session, o Options, force bool) ([]stack.Step, error) {
	nodes, err := whatGoes(ctx, s, o, force)
	if err != nil {
		return nil, err
	}
	return node.Deletions(nodes), nil
}

func whatGoes(ctx context.Context, s *azure.Session, o Options, force bool) ([]*stack.Node, error) {
	// The file is not touched; to name it is only asked of who makes the service principal.
	if o.CredentialsPath == "" {
		o.CredentialsPath = "-"
	}
	d := newZoneStack(s, o)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if d.out.ParentZoneID == "" && !d.SkipDelegation {
		parent, err := parentZone(ctx, s, d.Zone)
		if err != nil {
			return nil, err
		}
		d.out.ParentZoneID = parent
	}
	zone, err := s.Get(ctx, d.out.ZoneID, node.APIDNS)
	gone := failure.IsNotFound(err)
	if err != nil && !gone {
		return nil, err
	}
	if !gone && !force {
		if err := d.mayGo(ctx, zone); err != nil {
			return nil, err
		}
	}
	return d.destroyNodes(ctx, zone, gone)
}

// mayGo refuses a zone that is not ours or in use.
func (d *zoneStack) mayGo(ctx context.Context, zone *azure.Resource) error {
	if zone.Tags[node.StackTag("dns", "zone")] != "owned" {
		return field.Errorf(FieldForce, "the DNS zone %s was not made by `create dns azure`; give %s to delete it all the same", d.Zone, FieldForce)
	}
	sets, err := d.s.List(ctx, d.out.ZoneID+"/recordsets", node.APIDNS, "")
	if failure.IsNotFound(err) {
		return nil // another run has just removed it
	}
	if err != nil {
		return err
	}
	var used []string
	for _, set := range sets {
		// A listing may show what else hangs on the zone.
		if strings.Contains(strings.ToLower(set.Type), "/dnszones/") && set.Name != "@" {
			used = append(used, set.Name)
		}
	}
	if len(used) > 0 {
		slices.Sort(used)
		return field.Errorf(FieldForce, "the DNS zone %s still has records (%s); destroy the clusters that use it, or give %s to delete it with them",
			d.Zone, strings.Join(slices.Compact(used), ", "), FieldForce)
	}
	return nil
}

func (d *zoneStack) destroyNodes(ctx context.Context, zone *azure.Resource, gone bool) ([]*stack.Node, error) {
	zoneNode := d.zoneNode()
	zoneNode.DependsOn, zoneNode.Within = nil, ""
	nodes := []*stack.Node{zoneNode}
	if d.out.ParentZoneID != "" {
		record := d.delegationNode()
		mine, err := d.delegationIsOurs(ctx, zone, gone)
		if err != nil {
			return nil, err
		}
		if mine {
			nodes = append(nodes, record)
		}
	}
	account, err := d.s.Get(ctx, d.identityID(), node.APIIdentity)
	switch {
	case err == nil && account.Tags[node.StackTag("dns", "external-dns")] == "owned":
		nodes = append(nodes, node.Resource{Session: d.s, ID: d.identityID(), API: node.APIIdentity}.Node("identity", "managed identity", d.identityName()))
	case err != nil && !failure.IsNotFound(err):
		return nil, err
	}
	for _, r := range []struct{ name, scope string }{{"DNS Zone Contributor", d.out.ZoneID}, {"Reader", d.s.GroupID(d.ResourceGroup)}, {"Reader", d.out.ZoneID}, {"Contributor", d.out.ZoneID}} {
		a := azure.Assignment{Name: azure.AssignmentName("external-dns", r.name, r.scope+"/"+d.Zone), Scope: r.scope}
		nodes = append(nodes, &stack.Node{ID: "role/" + a.Name, Kind: "role assignment", Name: r.name, Resource: a.ID(), DependsOn: []string{"zone"},
			Delete: func(ctx context.Context) error { return d.s.Unassign(ctx, a) }})
	}
	if d.ServicePrincipal != "" {
		app := d.applicationNode()
		app.DependsOn = nil
		nodes = append(nodes, app)
	}
	return nodes, nil
}

// delegationIsOurs goes by the metadata of the record set, or by its leading to the zone that goes.
func (d *zoneStack) delegationIsOurs(ctx context.Context, zone *azure.Resource, gone bool) (bool, error) {
	set, err := d.s.Get(ctx, d.delegationID(), node.APIDNS)
	if failure.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if set.Property("metadata", zoneMetadata) == strings.ToLower(d.Zone) {
		return true, nil
	}
	return !gone && slices.Equal(delegation.LeadsTo(set), delegation.ServersOf(zone)), nil
}
