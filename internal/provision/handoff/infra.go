package handoff

import (
	"path"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// BeginInfra notes what a run is about to make: a later one goes on from it, and destroy knows what the user has brought.
func (h *File) BeginInfra(s *azure.Session, o infra.Options) {
	h.InfraUnderWay = infra.Expected(s, o)
	if b := (Brought{o.PrivateZoneID, o.PublicIPID, o.LoadBalancerID}); b != (Brought{}) {
		h.Brought = &b
	}
}

// EndInfra makes a complete infrastructure part of the hand-off.
func (h *File) EndInfra(o infra.Options, out *infra.Output) {
	h.Infra, h.InfraUnderWay = out, nil
	if o.AssignRoles {
		h.RolesDNSZoneGroup = dnsGroupOf(o, out)
		if h.RolesDNSZoneGroup == "" {
			h.RolesDNSZoneGroup = NoDNSZoneGroup
		}
	}
}

// InfraGone takes the infrastructure out of the hand-off.
func (h *File) InfraGone() {
	h.Infra, h.InfraUnderWay, h.Brought, h.RolesDNSZoneGroup = nil, nil, nil, ""
	h.Forget(infra.Stack)
}

// dnsGroupOf is the group in which the ingress identity may write: that of the zone, unless the user names another one for a zone that is not
// the cluster's own.
func dnsGroupOf(o infra.Options, out *infra.Output) string {
	zone, err := azure.ParseID(out.PublicZoneID)
	if err == nil && (o.DNSZoneGroup == "" || strings.EqualFold(zone.ResourceGroup, out.ResourceGroupName)) {
		return zone.ResourceGroup
	}
	return o.DNSZoneGroup
}

// known is the infrastructure of the hand-off, complete or not.
func (h *File) known() *infra.Output {
	if h.InfraUnderWay != nil {
		return h.InfraUnderWay
	}
	return h.Infra
}

// ContinueInfra fills what was not given with what an earlier run was given: without that, a second one would make another
// infrastructure beside the first.
func (h *File) ContinueInfra(o *infra.Options) {
	from := h.known()
	if from == nil {
		return
	}
	orElse(&o.BaseDomain, from.BaseDomain)
	if !strings.EqualFold(from.ResourceGroupName, node.MainGroup(o.Name, o.InfraID)) {
		orElse(&o.ResourceGroup, from.ResourceGroupName)
	}
	// What this stack makes has a name that nobody gives his own.
	if !strings.EqualFold(path.Base(from.VNetID), o.Name+"-"+o.InfraID) && o.VNetID == "" && o.SubnetID == "" {
		o.VNetID, o.SubnetID = from.VNetID, from.SubnetID
	}
	if !strings.EqualFold(path.Base(from.SecurityGroupID), o.Name+"-"+o.InfraID+"-nsg") {
		orElse(&o.NSGID, from.SecurityGroupID)
	}
	// The record of the applications stays where an earlier run has placed it.
	if zone, err := azure.ParseID(from.PublicZoneID); err == nil && !strings.EqualFold(zone.ResourceGroup, from.ResourceGroupName) {
		orElse(&o.AppsZone, infra.AppsZoneShared)
	}
	if b := h.Brought; b != nil {
		orElse(&o.PrivateZoneID, b.PrivateZoneID)
		orElse(&o.PublicIPID, b.PublicIPID)
		orElse(&o.LoadBalancerID, b.LoadBalancerID)
	}
}

// Demolish fills what was not given with what the hand-off knows of the infrastructure. The file is the user's own: he vouches for it.
func (h *File) Demolish(o *infra.DestroyOptions) {
	o.Vouched = append(o.Vouched, h.Made(infra.Stack)...)
	h.Hint(o)
}

// Hint is Demolish for a record that others can write: it says where to look, and vouches for nothing.
func (h *File) Hint(o *infra.DestroyOptions) {
	orElse(&o.Name, h.Name)
	orElse(&o.InfraID, h.InfraID)
	if h.RolesDNSZoneGroup != NoDNSZoneGroup {
		orElse(&o.DNSZoneGroup, h.RolesDNSZoneGroup)
	}
	o.Inventory = append(o.Inventory, h.Made(infra.Stack)...)
	if from := h.known(); from != nil {
		orElse(&o.ResourceGroup, from.ResourceGroupName)
		orElse(&o.VNetID, from.VNetID)
		orElse(&o.NSGID, from.SecurityGroupID)
		orElse(&o.PrivateZoneID, from.PrivateZoneID)
		orElse(&o.PublicZoneID, from.PublicZoneID)
	}
	if b := h.Brought; b != nil {
		orElse(&o.PrivateZoneID, b.PrivateZoneID)
		for _, id := range []string{b.PrivateZoneID, b.PublicIPID, b.LoadBalancerID} {
			if id != "" {
				o.Brought = append(o.Brought, id)
			}
		}
	}
}

// orElse keeps a value that is there.
func orElse(into *string, value string) {
	if *into == "" {
		*into = value
	}
}

// NoDNSZoneGroup stands for a cluster without a public zone.
const NoDNSZoneGroup = "none"
