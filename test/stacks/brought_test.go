package stacks_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// zoneWithLink makes a private zone with the name of the cluster's, and a link of another hand in it. No tag says whose they are.
func (w *world) zoneWithLink(group string) (zone, link string) {
	w.t.Helper()
	zone = w.group(group) + "/providers/Microsoft.Network/privateDnsZones/" + cluster + "." + domain
	link = zone + "/virtualNetworkLinks/hub"
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		if _, err := s.Put(ctx, w.group(group), "2021-04-01", azure.Resource{Location: location}); err != nil {
			return err
		}
		if _, err := s.Put(ctx, zone, "2020-06-01", azure.Resource{Location: "global"}); err != nil {
			return err
		}
		vnet := s.ResourceID("theirs", "Microsoft.Network/virtualNetworks", "vnet")
		_, err := s.Put(ctx, link, "2020-06-01", azure.Resource{Location: "global",
			Properties: map[string]any{"virtualNetwork": map[string]any{"id": vnet}, "registrationEnabled": false}})
		return err
	})
	must(w.t, err)
	return zone, link
}

// address makes a public address with the name of the cluster's, without a tag.
func (w *world) address(group string) string {
	w.t.Helper()
	id := w.group(group) + "/providers/Microsoft.Network/publicIPAddresses/" + infraID
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		if _, err := s.Put(ctx, w.group(group), "2021-04-01", azure.Resource{Location: location}); err != nil {
			return err
		}
		_, err := s.Put(ctx, id, "2023-11-01", azure.Resource{Location: location, SKU: map[string]any{"name": "Standard"},
			Properties: map[string]any{"publicIPAllocationMethod": "Static"}})
		return err
	})
	must(w.t, err)
	return id
}

// TestAdoptingLeavesWhatIsOnRecordAsTheUsers has things that look in every way like those that another tool made for the cluster, in a
// group of the default name; only the hand-off file knows better.
func TestAdoptingLeavesWhatIsOnRecordAsTheUsers(t *testing.T) {
	t.Run("zone", func(t *testing.T) {
		w := newWorld(t)
		zone, link := w.zoneWithLink("demo-demo-x")
		w.adoptAround(infra.Options{PrivateZoneID: zone}, zone, link)
	})
	t.Run("address", func(t *testing.T) {
		w := newWorld(t)
		id := w.address("demo-demo-x")
		w.adoptAround(infra.Options{PublicIPID: id}, id)
	})
}

// adoptAround makes infrastructure with what was brought, and destroys it by its record.
func (w *world) adoptAround(o infra.Options, theirs ...string) {
	w.t.Helper()
	before := w.dump()
	o.Name, o.InfraID, o.BaseDomain, o.Location = cluster, infraID, domain, location
	var shown []string
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		h := &handoff.File{Name: cluster, InfraID: infraID}
		h.BeginInfra(s, o)
		out, err := infra.Create(ctx, s, o, nil)
		if err != nil {
			return err
		}
		h.EndInfra(o, out)
		destroy := infra.DestroyOptions{Adopt: true, Show: func(a infra.Adoption) { shown = append(shown, a.Resources...) }}
		h.Demolish(&destroy)
		return infra.Destroy(ctx, s, destroy, nil)
	})
	must(w.t, err)
	if d := differences(before, w.dump()); d != "" {
		w.t.Errorf("after the destroy:\n%s", d)
	}
	if slices.ContainsFunc(theirs, func(id string) bool { return slices.Contains(shown, id) }) {
		w.t.Errorf("adopted: %v", shown)
	}
}

// TestAdoptedLinksAreShown adopts a zone in the user's group: what is inside it goes with it, and is listed before.
func TestAdoptedLinksAreShown(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	zone, link := w.zoneWithLink("theirs")
	var shown []string
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		return infra.Destroy(ctx, s, infra.DestroyOptions{Name: cluster, InfraID: infraID, ResourceGroup: "theirs", Adopt: true,
			Show: func(a infra.Adoption) { shown = append(shown, a.Resources...) }}, nil)
	})
	must(t, err)
	slices.Sort(shown)
	if want := []string{zone, link}; !slices.Equal(shown, want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the destroy:\n%s", d)
	}
}

// TestARefusedWriteIsKnownAsOne has a write refused on the real way to Azure, where the journal must know it.
func TestARefusedWriteIsKnownAsOne(t *testing.T) {
	w := newWorld(t)
	id := w.group("absent") + "/providers/Microsoft.Network/networkSecurityGroups/nsg"
	_, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		return s.PutAway(ctx, id, "2023-11-01", azure.Resource{Location: location})
	})
	if !failure.IsRefused(err, id) {
		t.Errorf("%v is not taken for a refusal", err)
	}
	_, err = w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		_, err := s.Get(ctx, id, "2023-11-01")
		return err
	})
	if failure.IsRefused(err, id) {
		t.Errorf("%v, the answer to a look, is taken for the refusal of a write", err)
	}
}
