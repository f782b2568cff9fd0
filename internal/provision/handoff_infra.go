package provision

import (
	"path"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// BeginInfra notes what a run is about to make: a later one goes on from it, and destroy knows what the user has brought.
func (h *Handoff) BeginInfra(s *azure.Session, o InfraOptions) {
	h.InfraUnderWay = expectedInfra(s, o)
	if b := (BroughtHandoff{o.PrivateZoneID, o.PublicIPID, o.LoadBalancerID}); b != (BroughtHandoff{}) {
		h.Brought = &b
	}
}

// EndInfra makes a complete infrastructure part of the hand-off.
func (h *Handoff) EndInfra(o InfraOptions, out *InfraOutput) {
	h.Infra, h.InfraUnderWay = out, nil
	if o.AssignRoles {
		h.RolesDNSZoneGroup = dnsGroupOf(o, out)
		if h.RolesDNSZoneGroup == "" {
			h.RolesDNSZoneGroup = noDNSZoneGroup
		}
	}
}

// InfraGone takes the infrastructure out of the hand-off.
func (h *Handoff) InfraGone() {
	h.Infra, h.InfraUnderWay, h.Brought, h.RolesDNSZoneGroup = nil, nil, nil, ""
	h.Forget(InfraStack)
}

func dnsGroupOf(o InfraOptions, out *InfraOutput) string {
	if zone, err := azure.ParseID(out.PublicZoneID); o.DNSZoneGroup == "" && err == nil {
		return zone.ResourceGroup
	}
	return o.DNSZoneGroup
}

// known is the infrastructure of the hand-off, complete or not.
func (h *Handoff) known() *InfraOutput {
	if h.InfraUnderWay != nil {
		return h.InfraUnderWay
	}
	return h.Infra
}

// ContinueInfra fills what was not given with what an earlier run was given: without that, a second one would make another
// infrastructure beside the first.
func (h *Handoff) ContinueInfra(o *InfraOptions) {
	from := h.known()
	if from == nil {
		return
	}
	orElse(&o.BaseDomain, from.BaseDomain)
	if !strings.EqualFold(from.ResourceGroupName, MainGroup(o.Name, o.InfraID)) {
		orElse(&o.ResourceGroup, from.ResourceGroupName)
	}
	// What this stack makes has a name that nobody gives his own.
	if !strings.EqualFold(path.Base(from.VNetID), o.Name+"-"+o.InfraID) && o.VNetID == "" && o.SubnetID == "" {
		o.VNetID, o.SubnetID = from.VNetID, from.SubnetID
	}
	if !strings.EqualFold(path.Base(from.SecurityGroupID), o.Name+"-"+o.InfraID+"-nsg") {
		orElse(&o.NSGID, from.SecurityGroupID)
	}
	if b := h.Brought; b != nil {
		orElse(&o.PrivateZoneID, b.PrivateZoneID)
		orElse(&o.PublicIPID, b.PublicIPID)
		orElse(&o.LoadBalancerID, b.LoadBalancerID)
	}
}

// Demolish fills what was not given with what the hand-off knows of the infrastructure.
func (h *Handoff) Demolish(o *DestroyOptions) {
	orElse(&o.Name, h.Name)
	orElse(&o.InfraID, h.InfraID)
	if h.RolesDNSZoneGroup != noDNSZoneGroup {
		orElse(&o.DNSZoneGroup, h.RolesDNSZoneGroup)
	}
	o.Inventory = append(o.Inventory, h.Made(InfraStack)...)
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

// noDNSZoneGroup stands for a cluster without a public zone.
const noDNSZoneGroup = "none"
