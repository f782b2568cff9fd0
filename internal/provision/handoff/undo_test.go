package handoff

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
)

const publicIP = "/subscriptions/" + provisiontest.Subscription + "/resourceGroups/theirs/providers/Microsoft.Network/publicIPAddresses/absent"

// TestUndo forgets the input of a run that made nothing, and keeps that of one that did.
func TestUndo(t *testing.T) {
	s := provisiontest.Session(t)
	for made, forgotten := range map[string]bool{"": true, infra.Stack: false, dns.Stack: true} {
		before, h := &File{}, &File{}
		if err := h.Claim(s, "typo", "typo-x", "", ""); err != nil {
			t.Fatal(err)
		}
		h.BeginInfra(s, infra.Options{Name: "typo", InfraID: "typo-x", PublicIPID: publicIP})
		if made != "" {
			h.add(Made{Stack: made, ID: publicIP})
		}
		h.Undo(before)
		if (h.InfraUnderWay == nil && h.Brought == nil) != forgotten {
			t.Errorf("made %q: %+v, %+v", made, h.InfraUnderWay, h.Brought)
		}
		if (h.Name == "" && h.InfraID == "") != (made == "") {
			t.Errorf("made %q: the file is of %q, %q", made, h.Name, h.InfraID)
		}
	}
}

// TestUndoKeepsAnApplication has no inventory to go by.
func TestUndoKeepsAnApplication(t *testing.T) {
	s := provisiontest.Session(t)
	for application, kept := range map[string]bool{"": false, "ExternalDNS": true} {
		h := &File{}
		if err := h.BeginDNS(s, dns.Options{Zone: "clusters.example.com", ResourceGroup: "g", ServicePrincipal: application}); err != nil {
			t.Fatal(err)
		}
		h.Undo(&File{})
		if (h.DNSUnderWay != nil) != kept {
			t.Errorf("application %q: %+v", application, h.DNSUnderWay)
		}
	}
}

// TestAnApplicationOnRecordIsNotGivenUp refuses what would leave its secret behind.
func TestAnApplicationOnRecordIsNotGivenUp(t *testing.T) {
	h := &File{DNS: &dns.Output{Zone: "clusters.example.com", Application: "a"}}
	for zone, application := range map[string]string{"clusters.example.com": "b", "CLUSTERS.example.com": "", "other.example.com": "a"} {
		if err := h.BeginDNS(provisiontest.Session(t), dns.Options{Zone: zone, ServicePrincipal: application}); err == nil || h.DNSUnderWay != nil {
			t.Errorf("%s, %q is taken", zone, application)
		}
	}
	if err := h.BeginDNS(provisiontest.Session(t), dns.Options{Zone: "Clusters.example.com", ServicePrincipal: "a"}); err != nil {
		t.Error(err)
	}
}
