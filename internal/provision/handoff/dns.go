package handoff

import (
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
)

// BeginDNS notes what a run is about to make, so that destroy finds all of it. An application on record is not given up for another
// way to sign in: its secret would go on being valid.
func (h *File) BeginDNS(s *azure.Session, o dns.Options) error {
	before := h.KnownDNS()
	if before != nil && !strings.EqualFold(before.Zone, o.Zone) {
		return fmt.Errorf("the hand-off file is of the DNS zone %s, not %s; remove that with `hypershift destroy dns azure` first, or use another file", before.Zone, o.Zone)
	}
	if before != nil && before.Application != "" && before.Application != o.ServicePrincipal {
		return field.Errorf(dns.FieldServicePrincipal, "the hand-off file has the service principal %s for ExternalDNS; give %s %s, or remove it with `hypershift destroy dns azure` first",
			before.Application, dns.FieldServicePrincipal, before.Application)
	}
	h.DNSUnderWay = dns.Expected(s, o)
	return nil
}

// EndDNS makes a complete zone part of the hand-off.
func (h *File) EndDNS(out *dns.Output) { h.DNS, h.DNSUnderWay = out, nil }

// DNSGone takes the zone out of the hand-off.
func (h *File) DNSGone() {
	h.EndDNS(nil)
	h.Forget(dns.Stack)
}

// KnownDNS is the zone of the hand-off, complete or not; nil when there is none.
func (h *File) KnownDNS() *dns.Output {
	if h.DNSUnderWay != nil {
		return h.DNSUnderWay
	}
	return h.DNS
}
