package arm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Limits of a subscription in a region, as usages shows them.
const (
	maxCores       = 2000 // of all sizes
	maxFamilyCores = 1000 // of the sizes of one family
	maxMachines    = 25000
)

// checkCapacity refuses a machine that Azure would not start: a size that the region does not have, or more cores than the quota leaves.
func (c *call) checkCapacity(vm *Resource, s size) error {
	at := wire.Text(vm.Body, "location")
	if slices.Contains(s.absent, at) {
		return conflict("SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: %s' is currently not available in location '%s'. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.", s.name, at)
	}
	cores, family := c.coresIn(at, s.family, vm)
	for _, q := range []struct {
		name        string
		used, limit int
	}{{s.family, family, maxFamilyCores}, {"Total Regional", cores, maxCores}} {
		if q.used+s.vcpus > q.limit {
			return conflict("QuotaExceeded", "Operation could not be completed as it results in exceeding approved %s Cores quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. "+
				"Submit a request for Quota increase at https://aka.ms/ProdportalCRP by specifying parameters listed in the 'Details' section for deployment to succeed.", q.name, at, q.limit, q.used, s.vcpus, q.used+s.vcpus)
		}
	}
	return nil
}

// coresIn counts the cores of a region's machines other than one, and those of one family.
func (c *call) coresIn(at, family string, but *Resource) (all, ofFamily int) {
	for _, vm := range c.within("", typeVM) {
		if wire.Text(vm.Body, "location") != at || but != nil && vm.ID == but.ID {
			continue
		}
		s, _ := sizeOf(vmSize(vm))
		all += s.vcpus
		if s.family == family {
			ofFamily += s.vcpus
		}
	}
	return all, ofFamily
}

// usages shows the quotas and what is used of them.
func (c *call) usages() (*reply, error) {
	usage := func(name, text string, n, limit int) Doc {
		return Doc{"unit": "Count", "currentValue": n, "limit": limit, "name": Doc{"value": name, "localizedValue": text}}
	}
	if strings.Contains(strings.ToLower(c.path.Raw), "microsoft.network") {
		return answer(http.StatusOK, Doc{"value": []any{usage("PublicIPAddresses", "Public IP Addresses", len(c.within("", typePublicIP)), 1000)}}), nil
	}
	at := strings.ToLower(segmentAfter(c.path.Raw, "locations"))
	cores, _ := c.coresIn(at, "", nil)
	out := []any{usage("cores", "Total Regional vCPUs", cores, maxCores), usage("virtualMachines", "Virtual Machines", len(c.within("", typeVM)), maxMachines)}
	for _, f := range families {
		_, used := c.coresIn(at, f.family, nil)
		out = append(out, usage(f.family, f.family+" vCPUs", used, maxFamilyCores))
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// typeAgreement is the acceptance of the terms of a marketplace plan.
const typeAgreement = "Microsoft.MarketplaceOrdering/offerTypes/publishers/offers/plans/agreements"

// checkPlan wants the terms of a machine's plan accepted.
func (c *call) checkPlan(vm *Resource) error {
	plan := wire.Sub(vm.Body, "plan")
	if len(plan) == 0 {
		return nil
	}
	publisher, offer, name := wire.Text(plan, "publisher"), wire.Text(plan, "product"), wire.Text(plan, "name")
	agreement := c.get(fmt.Sprintf("/subscriptions/%s/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/%s/offers/%s/plans/%s/agreements/current", c.Subscription, publisher, offer, name))
	if agreement != nil && wire.Props(agreement.Body)["accepted"] == true {
		return nil
	}
	refusal := badRequest("MarketplacePurchaseEligibilityFailed", "Marketplace purchase eligibilty check returned errors. See inner errors for details. ")
	refusal.Extra = Doc{"details": []any{Doc{"code": "BadRequest", "message": fmt.Sprintf("Offer with PublisherId: '%s', OfferId: '%s' cannot be purchased due to validation errors. For more information see details. "+
		"You have not accepted the legal terms on this subscription: '%s' for plan '%s'. Before the subscription can be used, you need to accept the legal terms of the image.", publisher, offer, c.Subscription, name)}}}
	return refusal
}

// agreement shows the terms of a plan, which nobody has accepted until a PUT says so.
func (c *call) agreement() (*reply, error) {
	if r := c.get(c.path.Raw); r != nil {
		return c.show(http.StatusOK, r), nil
	}
	return answer(http.StatusOK, Doc{"id": c.path.Raw, "name": c.path.Name(), "type": typeAgreement, "properties": Doc{
		"publisher": segmentAfter(c.path.Raw, "publishers"), "product": segmentAfter(c.path.Raw, "offers"), "plan": segmentAfter(c.path.Raw, "plans"), "accepted": false}}), nil
}
