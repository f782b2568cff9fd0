package resources

import (
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// regions that exist; zones are numbered 1 to 3 in each.
var regions = map[string]string{
	"eastus": "East US", "eastus2": "East US 2", "southcentralus": "South Central US", "westus2": "West US 2", "westus3": "West US 3",
	"australiaeast": "Australia East", "southeastasia": "Southeast Asia", "northeurope": "North Europe", "swedencentral": "Sweden Central",
	"uksouth": "UK South", "westeurope": "West Europe", "centralus": "Central US", "southafricanorth": "South Africa North",
	"centralindia": "Central India", "eastasia": "East Asia", "indonesiacentral": "Indonesia Central", "japaneast": "Japan East",
	"japanwest": "Japan West", "koreacentral": "Korea Central", "malaysiawest": "Malaysia West", "newzealandnorth": "New Zealand North",
	"canadacentral": "Canada Central", "francecentral": "France Central", "germanywestcentral": "Germany West Central", "italynorth": "Italy North",
	"norwayeast": "Norway East", "polandcentral": "Poland Central", "spaincentral": "Spain Central", "switzerlandnorth": "Switzerland North",
	"mexicocentral": "Mexico Central", "uaenorth": "UAE North", "brazilsouth": "Brazil South", "israelcentral": "Israel Central",
	"qatarcentral": "Qatar Central", "northcentralus": "North Central US", "westus": "West US", "westcentralus": "West Central US",
	"australiacentral": "Australia Central", "australiasoutheast": "Australia Southeast", "koreasouth": "Korea South", "southindia": "South India",
	"westindia": "West India", "canadaeast": "Canada East", "ukwest": "UK West", "brazilsoutheast": "Brazil Southeast",
}

// RegionNames are the regions that exist, that of the sandbox first.
func RegionNames(c *provider.Call) []string {
	out := []string{c.Location}
	for name := range regions {
		if name != c.Location {
			out = append(out, name)
		}
	}
	sort.Strings(out[1:])
	return out
}

func displayName(region string) string {
	if d := regions[region]; d != "" {
		return d
	}
	return region
}

func locations(c *provider.Call) (*provider.Reply, error) {
	var out []any
	for _, name := range RegionNames(c) {
		out = append(out, wire.Doc{"id": "/subscriptions/" + c.Subscription + "/locations/" + name, "name": name, "type": "Region",
			"displayName": displayName(name), "regionalDisplayName": "(Sandbox) " + displayName(name),
			"metadata":                 wire.Doc{"regionType": "Physical", "regionCategory": "Recommended", "geographyGroup": "Sandbox", "pairedRegion": []any{}},
			"availabilityZoneMappings": []any{wire.Doc{"logicalZone": "1", "physicalZone": name + "-az1"}, wire.Doc{"logicalZone": "2", "physicalZone": name + "-az2"}, wire.Doc{"logicalZone": "3", "physicalZone": name + "-az3"}}})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// CheckLocation wants a region for what lives in one.
func CheckLocation(c *provider.Call, k *provider.Kind) error {
	at := wire.Text(c.Body, "location")
	group := k.Type == provider.TypeResourceGroup
	switch {
	case !group && (k.Type == "" || strings.Count(k.Type, "/") != 1 || k.NoLocation):
		return nil
	case at == "":
		return provider.BadRequest("LocationRequired", "The location property is required for this definition.")
	case at == "global" && !group, at == c.Location, regions[at] != "":
		return nil
	case group:
		return provider.BadRequest("LocationNotAvailableForResourceGroup", "The provided location '%s' is not available for resource group. List of available regions is '%s'.", at, strings.Join(RegionNames(c), ","))
	}
	return provider.BadRequest("LocationNotAvailableForResourceType", "The provided location '%s' is not available for resource type '%s'. List of available regions for the resource type is '%s'.", at, k.Type, strings.Join(RegionNames(c), ","))
}

// zonesOfRegions are those of each region.
var zonesOfRegions = []string{"1", "2", "3"}

// CheckZones wants zones that the region has.
func CheckZones(c *provider.Call, k *provider.Kind) error {
	for _, zone := range wire.Texts(c.Body, "zones") {
		if !slices.Contains(zonesOfRegions, zone) {
			return provider.BadRequest("AvailabilityZoneNotSupported", "The zone(s) '%s' for resource '%s/%s' is not supported. The supported zones for location '%s' are '%s'", zone, k.TypeName(c.Path.Type), c.Path.Name(),
				wire.Text(c.Body, "location"), strings.Join(zonesOfRegions, ","))
		}
	}
	return nil
}
