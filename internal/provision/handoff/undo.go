package handoff

import (
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// Undo forgets what a failed run was given, for that may be why it failed, unless the run has made something, or went on with what an
// earlier one had made: then it tells what there is.
func (h *File) Undo(before *File) {
	// An application may be there without being in the inventory.
	if zone := h.DNSUnderWay; zone != nil && zone.Application == "" && len(h.Made(dns.Stack)) == 0 {
		h.DNSUnderWay = before.DNSUnderWay
	}
	if len(h.Made(infra.Stack)) == 0 {
		h.InfraUnderWay, h.Brought = before.InfraUnderWay, before.Brought
	}
	if h.DNSUnderWay == before.DNSUnderWay && len(h.Inventory) == len(before.Inventory) {
		h.SubscriptionID, h.TenantID, h.Name, h.InfraID, h.Cloud, h.Location = before.SubscriptionID, before.TenantID, before.Name, before.InfraID, before.Cloud, before.Location
	}
}
