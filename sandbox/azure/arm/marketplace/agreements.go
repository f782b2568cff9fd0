// Package marketplace is Microsoft.MarketplaceOrdering of the embedded Azure: the terms of plans.
package marketplace

import (
	"fmt"
	"net/http"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// typeAgreement is the acceptance of the terms of a marketplace plan.
const typeAgreement = "Microsoft.MarketplaceOrdering/offerTypes/publishers/offers/plans/agreements"

// Spec is what the gateway serves of the marketplace.
var Spec = provider.Spec{Namespace: "Microsoft.MarketplaceOrdering",
	Kinds: []*provider.Kind{{Type: typeAgreement, Orphan: true, NoState: true, CreateOK: true}},
	Routes: []provider.Route{
		{Method: "GET", Pattern: "subscriptions/*/providers/microsoft.marketplaceordering/offertypes/*/publishers/*/offers/*/plans/*/agreements/*", Handle: agreement}}}

// CheckPlan wants the terms of a machine's plan accepted.
func CheckPlan(c *provider.Call, vm *provider.Resource) error {
	plan := wire.Sub(vm.Body, "plan")
	if len(plan) == 0 {
		return nil
	}
	publisher, offer, name := wire.Text(plan, "publisher"), wire.Text(plan, "product"), wire.Text(plan, "name")
	agreement := c.Get(fmt.Sprintf("/subscriptions/%s/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/%s/offers/%s/plans/%s/agreements/current", c.Subscription, publisher, offer, name))
	if agreement != nil && wire.Props(agreement.Body)["accepted"] == true {
		return nil
	}
	refusal := provider.BadRequest("MarketplacePurchaseEligibilityFailed", "Marketplace purchase eligibilty check returned errors. See inner errors for details. ")
	refusal.Extra = wire.Doc{"details": []any{wire.Doc{"code": "BadRequest", "message": fmt.Sprintf("Offer with PublisherId: '%s', OfferId: '%s' cannot be purchased due to validation errors. For more information see details. "+
		"You have not accepted the legal terms on this subscription: '%s' for plan '%s'. Before the subscription can be used, you need to accept the legal terms of the image.", publisher, offer, c.Subscription, name)}}}
	return refusal
}

// agreement shows the terms of a plan, which nobody has accepted until a PUT says so.
func agreement(c *provider.Call) (*provider.Reply, error) {
	if r := c.Get(c.Path.Raw); r != nil {
		return c.Show(http.StatusOK, r), nil
	}
	return provider.Answer(http.StatusOK, wire.Doc{"id": c.Path.Raw, "name": c.Path.Name(), "type": typeAgreement, "properties": wire.Doc{
		"publisher": provider.SegmentAfter(c.Path.Raw, "publishers"), "product": provider.SegmentAfter(c.Path.Raw, "offers"), "plan": provider.SegmentAfter(c.Path.Raw, "plans"), "accepted": false}}), nil
}
