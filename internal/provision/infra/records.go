package infra

import (
	"context"
	"errors"
	"path"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// addRecords finds the records that the hosted cluster's ingress operator has written and not taken back: their address may become
// somebody else's. They carry the infrastructure id.
func (d *demolition) addRecords(ctx context.Context) error {
	zones, err := d.zones(ctx)
	if err != nil {
		return err
	}
	for _, zone := range zones {
		list, api := zone+"/recordsets", node.APIDNS
		if isPrivateZone(zone) {
			list, api = zone+"/ALL", node.APIPrivateDNS
		}
		sets, err := d.s.List(ctx, list, api, "")
		if failure.IsNotFound(err) {
			continue
		}
		if failure.CodeOf(err) == notAllowed {
			d.warn("cannot look for this cluster's records in zone " + zone + " (" + err.Error() + "); delete the one of its applications (*.apps.…) where it is left")
			continue
		}
		if err != nil {
			return err
		}
		for _, set := range sets {
			if set.Property("metadata", hyperv1.IngressRecordMetadata) == d.InfraID && !d.found[strings.ToLower(set.ID)] {
				d.records = append(d.records, d.recordDeletion(&set, api))
			}
		}
	}
	return nil
}

// notAllowed is Azure's code for a missing role.
const notAllowed = "AuthorizationFailed"

// zones are those that may hold records of the cluster and that do not go with it.
func (d *demolition) zones(ctx context.Context) ([]string, error) {
	var zones []string
	for _, id := range []string{d.PublicZoneID, d.PrivateZoneID} {
		zone, err := azure.ParseID(id)
		if err == nil && !d.found[strings.ToLower(id)] && !d.found[strings.ToLower(d.s.GroupID(zone.ResourceGroup))] {
			zones = append(zones, id)
		}
	}
	if d.PublicZoneID != "" || d.DNSZoneGroup == "" {
		return zones, nil
	}
	found, err := d.s.List(ctx, d.s.GroupID(d.DNSZoneGroup)+"/providers/"+node.TypeDNS, node.APIDNS, "")
	if failure.IsNotFound(err) {
		return zones, nil
	}
	if failure.CodeOf(err) == notAllowed {
		d.warn("cannot look for this cluster's records in the zones of resource group " + d.DNSZoneGroup + " (" + err.Error() + ")")
		return zones, nil
	}
	for _, zone := range found {
		zones = append(zones, zone.ID)
	}
	return zones, err
}

func isPrivateZone(id string) bool {
	return strings.Contains(strings.ToLower(id), strings.ToLower("/"+node.TypePrivateDNS+"/"))
}

// recordDeletion deletes the record as it was found: what somebody has changed since is not the cluster's any more.
func (d *demolition) recordDeletion(set *azure.Resource, api string) *stack.Node {
	n := d.deletion(set.ID, "DNS record", set.Name, api)
	zone, err := azure.ParseID(set.ID)
	if err == nil {
		n.Name += "." + path.Base(zone.Parent)
	}
	etag := set.ETag
	n.Delete = func(ctx context.Context) error {
		err := d.s.DeleteIf(ctx, set.ID, api, etag)
		if azure.IsChanged(err) {
			return errors.New("somebody has changed the record meanwhile; look whose it is, and delete it or run the command again")
		}
		return err
	}
	return n
}

func (d *demolition) warn(sentence string) {
	if d.Warn != nil {
		d.Warn(sentence)
	}
}
