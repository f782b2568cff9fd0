package azure

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Offer is a size of virtual machines as a location has it for the subscription.
type Offer struct {
	MachineSize
	// Family is the name of the quota that counts its cores.
	Family string
	// Zones in which the subscription gets it, in order.
	Zones []string
	// Refused is Azure's reason for not giving it to the subscription here at all, such as NotAvailableForSubscription; empty where it does.
	Refused string
	// Generations of the hypervisor that it boots: V1, V2.
	Generations []string
	// PremiumDisks, EphemeralDisk and EncryptionAtHost are what its disks can be.
	PremiumDisks, EphemeralDisk, EncryptionAtHost bool
}

// offerRow is a row of the list of SKUs with what is said of its place.
type offerRow struct {
	sku
	Family       string `json:"family"`
	LocationInfo []struct {
		Zones []string `json:"zones"`
	} `json:"locationInfo"`
	Restrictions []struct {
		Type            string `json:"type"`
		ReasonCode      string `json:"reasonCode"`
		RestrictionInfo struct {
			Zones []string `json:"zones"`
		} `json:"restrictionInfo"`
	} `json:"restrictions"`
}

// Offers reads the sizes of a location with their zones and restrictions, by their names in lower case.
func (s *Session) Offers(ctx context.Context, location string) (map[string]Offer, error) {
	rows, err := list[offerRow](ctx, s, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.Compute/skus", apiSKUs, fmt.Sprintf("location eq '%s'", location))
	if err != nil {
		return nil, err
	}
	out := map[string]Offer{}
	for _, row := range rows {
		if size, ok := row.size(); ok {
			out[strings.ToLower(size.Name)] = row.offer(size)
		}
	}
	return out, nil
}

func (r offerRow) offer(size MachineSize) Offer {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Capabilities, func(c capability) bool { return c.Name == name && c.Value == "True" })
	}
	o := Offer{MachineSize: size, Family: r.Family, PremiumDisks: has("PremiumIO"), EphemeralDisk: has("EphemeralOSDiskSupported"), EncryptionAtHost: has("EncryptionAtHostSupported")}
	for _, c := range r.Capabilities {
		if c.Name == "HyperVGenerations" {
			o.Generations = strings.Split(c.Value, ",")
		}
	}
	for _, at := range r.LocationInfo {
		o.Zones = append(o.Zones, at.Zones...)
	}
	for _, restriction := range r.Restrictions {
		if restriction.Type == "Location" {
			o.Refused = restriction.ReasonCode
		}
		o.Zones = slices.DeleteFunc(o.Zones, func(zone string) bool { return slices.Contains(restriction.RestrictionInfo.Zones, zone) })
	}
	slices.Sort(o.Zones)
	return o
}
