package infra

import (
	"context"
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Whoever administers a hosted cluster can sign in as its ingress identity. A role on the zone of the base domain would be one on the records of
// every cluster in it, so the cluster's applications have a zone of their own, in the cluster's main resource group, and the identity has no
// role anywhere else.

// Where the record of the applications lies.
const (
	AppsZoneOwn    = "own"    // in a zone apps.CLUSTER.BASE of the cluster's, to which the zone of the base domain delegates
	AppsZoneShared = "shared" // in the zone of the base domain
)

const appsZoneNode, appsDelegationNode = "appszone", "appsdelegation"

// OwnsAppsZone tells whether the cluster gets a zone for its applications. Without a word of the user's it does where the identities get
// their roles in the same run.
func (o Options) OwnsAppsZone() bool {
	return o.AppsZone == AppsZoneOwn || o.AppsZone == "" && o.AssignRoles
}

func (o Options) validateAppsZone() error {
	if o.AppsZone != "" && o.AppsZone != AppsZoneOwn && o.AppsZone != AppsZoneShared {
		return FieldAppsZone.Wrong("%q is neither %s nor %s", o.AppsZone, AppsZoneOwn, AppsZoneShared)
	}
	return nil
}

// appsZone is what the nodes of the zone share; it is known once the zone of the base domain has been found.
type appsZone struct {
	baseZoneID string   // "" where there is none
	shared     bool     // the record lies in the zone of the base domain
	servers    []string // of the own zone
}

func (i *layout) appsDomain() string { return "apps." + i.ClusterDomain() }

func (i *layout) appsZoneID() string { return i.s.ResourceID(i.main, node.TypeDNS, i.appsDomain()) }

// placeApps decides where the record of the applications lies: where it lay, where there is one. The zone of the base domain is found.
func (i *layout) placeApps(ctx context.Context) error {
	i.apps.shared = true
	switch {
	case i.apps.baseZoneID == "" && i.AppsZone == AppsZoneOwn:
		return FieldAppsZone.Wrong("%s needs the public DNS zone %s, which delegates to the cluster's; create it, or leave %s out", AppsZoneOwn, i.BaseDomain, FieldAppsZone)
	case i.apps.baseZoneID == "":
		return nil
	case i.OwnsAppsZone():
		taken, err := i.hasSharedRecord(ctx)
		if i.apps.shared = taken; err != nil || taken {
			return err
		}
		return i.delegatedElsewhere(ctx)
	}
	zone, err := i.s.Get(ctx, i.appsZoneID(), node.APIDNS)
	switch {
	case failure.IsNotFound(err), failure.CodeOf(err) == notAllowed:
		return nil
	case err != nil:
		return err
	case IsOwned(zone, i.InfraID):
		i.out.PublicZoneID = i.appsZoneID()
	}
	return nil
}

// hasSharedRecord tells whether the zone of the base domain has the record: a zone of its own would hide it from the world.
func (i *layout) hasSharedRecord(ctx context.Context) (bool, error) {
	name := strings.TrimSuffix("*."+i.appsDomain(), "."+i.BaseDomain)
	_, err := i.s.Get(ctx, i.apps.baseZoneID+"/A/"+name, node.APIDNS)
	if failure.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// sharedIn is the place where the record lies with those of other clusters, "" where the cluster has a zone of its own.
func (i *layout) sharedIn(place string) string {
	if i.OwnsAppsZone() && !i.apps.shared {
		return ""
	}
	return place
}

// appsZoneNodes are the zone and its delegation.
func (i *layout) appsZoneNodes(publicZone *stack.Node) []*stack.Node {
	if !i.OwnsAppsZone() {
		return nil
	}
	zone := node.Resource{Session: i.s, ID: i.appsZoneID(), API: node.APIDNS,
		Body: func() azure.Resource { return azure.Resource{Location: "global", Tags: i.tags()} },
		Found: func(r *azure.Resource) {
			i.apps.servers, i.out.PublicZoneID = delegation.ServersOf(r), i.appsZoneID()
		},
	}.Node(appsZoneNode, "DNS zone", i.appsDomain(), publicZoneNode, "group/main")
	record := i.appsDelegation().Node(appsDelegationNode, "NS record set", i.appsDomain(), publicZoneNode, appsZoneNode)
	record.Observe = func(ctx context.Context) (stack.State, error) { return i.appsDelegation().Observe(ctx) }
	record.Apply = func(ctx context.Context) error { return i.appsDelegation().Apply(ctx) }
	for _, n := range []*stack.Node{zone, record} {
		look := n.Observe
		n.Observe = func(ctx context.Context) (stack.State, error) {
			if i.apps.shared {
				return stack.Current, nil
			}
			return look(ctx)
		}
	}
	find := publicZone.Observe
	publicZone.Observe = func(ctx context.Context) (stack.State, error) {
		state, err := find(ctx)
		if err == nil && !i.apps.shared {
			record.Resource = i.appsDelegation().ID
		}
		return state, err
	}
	return []*stack.Node{zone, record}
}

func (i *layout) appsDelegation() node.Resource {
	return node.Resource{Session: i.s, ID: delegation.ID(i.appsDomain(), i.apps.baseZoneID), API: node.APIDNS,
		Body: func() azure.Resource {
			return delegation.RecordSet(i.apps.servers, hyperv1.IngressRecordMetadata, i.InfraID)
		},
		Current: func(r *azure.Resource) bool { return slices.Equal(delegation.LeadsTo(r), i.apps.servers) },
	}
}

// delegatedElsewhere refuses to turn somebody else's delegation, before anything is made. One that leads to the cluster's zone may be anybody's.
func (i *layout) delegatedElsewhere(ctx context.Context) error {
	set, err := i.s.Get(ctx, delegation.ID(i.appsDomain(), i.apps.baseZoneID), node.APIDNS)
	if failure.IsNotFound(err) {
		return nil
	}
	if err != nil || set.Property("metadata", hyperv1.IngressRecordMetadata) == i.InfraID {
		return err
	}
	zone, err := i.s.Get(ctx, i.appsZoneID(), node.APIDNS)
	if err == nil && slices.Equal(delegation.ServersOf(zone), delegation.LeadsTo(set)) || err != nil && !failure.IsNotFound(err) {
		return err
	}
	return field.Errorf(FieldAppsZone, "the zone of %s delegates %s to %s already, and this cluster did not make that record; delete it where it is left, choose another name of the cluster, or give %s=%s",
		i.BaseDomain, i.appsDomain(), strings.Join(delegation.LeadsTo(set), ", "), FieldAppsZone, AppsZoneShared)
}

// addDelegation finds the record that delegates the zone of the cluster's applications: it lies in a zone of the user's, which stays, and goes
// before the zone that it leads to.
func (d *demolition) addDelegation(ctx context.Context) error {
	zones, err := d.s.List(ctx, "/subscriptions/"+d.s.SubscriptionID+"/providers/"+node.TypeDNS, node.APIDNS, "")
	if err != nil {
		return d.warnOfDelegation(err)
	}
	var nodes []*stack.Node
	for i := range zones {
		if !d.mayDelegate(&zones[i]) {
			continue
		}
		sets, err := d.s.List(ctx, zones[i].ID+"/NS", node.APIDNS, "")
		if failure.IsNotFound(err) {
			continue
		}
		if err != nil {
			return d.warnOfDelegation(err)
		}
		for k := range sets {
			if sets[k].Property("metadata", hyperv1.IngressRecordMetadata) == d.InfraID {
				nodes = append(nodes, d.recordDeletion(&sets[k], node.APIDNS))
			}
		}
	}
	d.addStage(nodes...)
	return nil
}

// mayDelegate tells whether the zone may be above that of the applications: where the HostedCluster or the hand-off names that, by its name.
func (d *demolition) mayDelegate(zone *azure.Resource) bool {
	applications, err := azure.ParseID(d.PublicZoneID)
	return !d.marked(zone) && (err != nil || strings.HasSuffix("."+strings.ToLower(applications.Name), "."+strings.ToLower(zone.Name)))
}

// warnOfDelegation says what may be left where the zones may not be read; other errors are the caller's.
func (d *demolition) warnOfDelegation(err error) error {
	if failure.CodeOf(err) != notAllowed {
		return err
	}
	d.warn("cannot look for the delegation of this cluster's applications (" + err.Error() + "); delete the NS record set apps.… where it is left")
	return nil
}
