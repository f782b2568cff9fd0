package compute

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Limits of a subscription in a region, as usages shows them.
const (
	maxCores       = 2000 // of all sizes
	maxFamilyCores = 1000 // of the sizes of one family
	maxMachines    = 25000
)

// checkCapacity refuses a machine that Azure would not start: a size that the region does not have, or more cores than the quota leaves.
func checkCapacity(c *provider.Call, vm *provider.Resource, s Size) error {
	at := wire.Text(vm.Body, "location")
	if slices.Contains(s.absent, at) {
		return provider.Conflict("SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: %s' is currently not available in location '%s'. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.", s.name, at)
	}
	cores, family := coresIn(c, at, s.quota, vm)
	for _, q := range []struct {
		name        string
		used, limit int
	}{{s.quota, family, maxFamilyCores}, {"Total Regional", cores, maxCores}} {
		if q.used+s.VCPUs > q.limit {
			return provider.Conflict("QuotaExceeded", "Operation could not be completed as it results in exceeding approved %s Cores quota. Additional details - Deployment Model: Resource Manager, Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. "+
				"Submit a request for Quota increase at https://aka.ms/ProdportalCRP by specifying parameters listed in the 'Details' section for deployment to succeed.", q.name, at, q.limit, q.used, s.VCPUs, q.used+s.VCPUs)
		}
	}
	return nil
}

// coresIn counts the cores of a region's machines other than one, and those of one family.
func coresIn(c *provider.Call, at, family string, but *provider.Resource) (all, ofFamily int) {
	for _, vm := range c.Within("", TypeVM) {
		if wire.Text(vm.Body, "location") != at || but != nil && vm.ID == but.ID {
			continue
		}
		s, _ := SizeOf(VMSize(vm))
		all += s.VCPUs
		if s.family != nil && s.quota == family {
			ofFamily += s.VCPUs
		}
	}
	return all, ofFamily
}

// usages shows the quotas and what is used of them.
func usages(c *provider.Call) (*provider.Reply, error) {
	at := strings.ToLower(provider.SegmentAfter(c.Path.Raw, "locations"))
	cores, _ := coresIn(c, at, "", nil)
	out := []any{provider.Usage("cores", "Total Regional vCPUs", cores, maxCores), provider.Usage("virtualMachines", "Virtual Machines", len(c.Within("", TypeVM)), maxMachines)}
	for _, f := range families {
		_, used := coresIn(c, at, f.quota, nil)
		out = append(out, provider.Usage(f.quota, f.quota+" vCPUs", used, maxFamilyCores))
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}
