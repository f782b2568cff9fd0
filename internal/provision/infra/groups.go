package infra

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// Unproven is a resource group that is said to be the cluster's, and why that is no proof.
type Unproven struct{ Group, Why string }

// Adoption is what goes though nothing but its name says that it is ours.
type Adoption struct {
	Group     string
	Whole     bool // the group itself goes
	Resources []string
}

// addGroup decides whether a group goes as a whole, is emptied of ours, or is left.
func (d *demolition) addGroup(ctx context.Context, name string) error {
	found, err := d.s.Get(ctx, d.s.GroupID(name), node.APIGroups)
	if failure.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	whole, err := d.goesWhole(ctx, name, found.Tags)
	if err != nil {
		return err
	}
	if whole {
		d.addStage(d.deletion(d.s.GroupID(name), "resource group", name, node.APIGroups))
		return nil
	}
	return d.addOwned(ctx, name)
}

// goesWhole decides by Azure's own word: our tag on a group that has the name which we give. What a tenant can write proves nothing; a group
// of another name goes by that only when the user confirms it, and never when its tags say that it is another cluster's.
func (d *demolition) goesWhole(ctx context.Context, name string, tags map[string]string) (bool, error) {
	isMain := strings.EqualFold(name, d.main)
	// A group of another name was the user's choice; one of the default name was made for this cluster by some tool.
	chosen := isMain && !strings.EqualFold(name, node.MainGroup(d.Name, d.InfraID))
	tagged, unsure := tags[ownerTag(d.InfraID)] == "owned", chosen && d.GroupUnproven
	proven := d.isRecorded(name) || tagged && !unsure
	if !proven && !(isMain && d.typed()) && d.isAnothers(name, tags) {
		return false, nil
	}
	switch stays, err := d.holdsKept(ctx, name); {
	case err != nil || stays:
		return false, err
	case proven:
		return true, nil
	case unsure:
		return d.confirmed(name, tagged), nil
	case chosen:
		return d.DeleteResourceGroup, nil
	}
	return d.adopts(ctx, name, isMain)
}

// isRecorded tells whether the user vouches for a group.
func (d *demolition) isRecorded(name string) bool {
	return d.recorded[strings.ToLower(d.s.GroupID(name))]
}

// adopts tells whether a group that has nothing of ours but its name goes all the same, as the user may ask.
func (d *demolition) adopts(ctx context.Context, name string, isMain bool) (bool, error) {
	if isMain && d.DeleteResourceGroup {
		return true, nil
	}
	if !d.Adopt {
		d.left = append(d.left, name)
		return false, nil
	}
	return true, d.adoptGroup(ctx, name)
}

// holdsKept tells whether something in a group, or the group itself, is to stay: so it cannot go as a whole, whoever made it.
func (d *demolition) holdsKept(ctx context.Context, name string) (bool, error) {
	isMain := strings.EqualFold(name, d.main)
	if isMain && d.PreserveResourceGroup {
		return true, nil
	}
	holds, err := d.holdsBrought(ctx, name)
	if err != nil || holds || !isMain {
		return holds, err
	}
	return d.keepsVolumes(ctx, name)
}

// typed tells whether the user himself has named the main group as one that goes.
func (d *demolition) typed() bool { return d.DeleteResourceGroup && !d.GroupUnproven }

// isAnothers tells whether a group is another cluster's by its tags, and says so.
func (d *demolition) isAnothers(name string, tags map[string]string) bool {
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		if tags[tag] == "owned" && strings.HasPrefix(tag, ownerTag("")) && tag != ownerTag(d.InfraID) {
			d.warn("resource group " + name + " has the tag " + tag + "=owned, by which it is another hosted cluster's; it stays")
			return true
		}
	}
	return false
}

// confirmed decides on a group that has not the name which we give, and whose name comes from what a tenant can write.
func (d *demolition) confirmed(name string, tagged bool) bool {
	why := ""
	switch {
	case tagged:
		why = "it has the tag " + ownerTag(d.InfraID) + "=owned"
	case d.DeleteResourceGroup:
		why = "it is the main resource group that the HostedCluster names"
	case slices.ContainsFunc(d.Inventory, func(id string) bool { return strings.EqualFold(id, d.s.GroupID(name)) }):
		why = "the record beside the HostedCluster says that it was made for the cluster"
	default:
		return false // nobody says that it is more than the user's
	}
	doubt := Unproven{name, why}
	if d.Confirm != nil && d.Confirm(doubt) {
		return true
	}
	d.unproven = append(d.unproven, doubt)
	return false
}

func (d *demolition) adoptGroup(ctx context.Context, name string) error {
	all, err := d.resourcesIn(ctx, name)
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	d.adopted = append(d.adopted, Adoption{name, true, ids})
	return nil
}

// holdsBrought tells whether something of the user's own is in the group: then the group must not go.
func (d *demolition) holdsBrought(ctx context.Context, group string) (bool, error) {
	for _, id := range append([]string{d.VNetID, d.NSGID, d.PrivateZoneID}, d.Brought...) {
		parsed, err := azure.ParseID(id)
		if err != nil || !strings.EqualFold(parsed.ResourceGroup, group) {
			continue
		}
		api := node.APINetwork
		if strings.EqualFold(parsed.Type, node.TypePrivateDNS) {
			api = node.APIPrivateDNS
		}
		found, err := d.s.Get(ctx, id, api)
		if err != nil && !failure.IsNotFound(err) {
			return false, err
		}
		if err == nil && !d.marked(found) {
			return true, nil
		}
	}
	return false, nil
}
