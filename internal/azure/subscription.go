package azure

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// Subscription is what Azure says of the session's subscription.
type Subscription struct {
	// Name as a person gave it; State is Enabled, Warned, PastDue, Disabled or Deleted.
	Name, State string
	// Clock is Azure's, to the second, and At this machine's at the same moment, give or take the way of the answer.
	Clock, At time.Time
}

// Subscription asks for the subscription, and takes Azure's clock from the answer.
func (s *Session) Subscription(ctx context.Context) (Subscription, error) {
	path := "/subscriptions/" + s.SubscriptionID
	resp, err := s.do(ctx, http.MethodGet, path, apiSubscription, nil, http.StatusOK)
	if err != nil {
		return Subscription{}, failure.Wrap("read", path, err)
	}
	defer resp.Body.Close()
	var answer struct {
		Name  string `json:"displayName"`
		State string `json:"state"`
	}
	out := Subscription{At: time.Now()}
	// A missing date leaves the clock zero.
	out.Clock, _ = http.ParseTime(resp.Header.Get("Date"))
	err = runtime.UnmarshalAsJSON(resp, &answer)
	out.Name, out.State = answer.Name, answer.State
	return out, failure.Wrap("read", path, err)
}

// Usage is one quota of a location.
type Usage struct {
	// Text is the quota's name for people.
	Text string
	// Used and Limit are in the unit of the quota, which is cores for families of virtual machines.
	Used, Limit int64
}

// apiUsages is a version that both Microsoft.Compute and Microsoft.Network know.
const apiUsages = "2023-09-01"

// Usages reads the quotas of a namespace, such as Microsoft.Compute, in a location, by their names in lower case:
// https://learn.microsoft.com/rest/api/compute/usage/list.
func (s *Session) Usages(ctx context.Context, namespace, location string) (map[string]Usage, error) {
	type row struct {
		Used  int64 `json:"currentValue"`
		Limit int64 `json:"limit"`
		Name  struct {
			Value string `json:"value"`
			Text  string `json:"localizedValue"`
		} `json:"name"`
	}
	rows, err := list[row](ctx, s, "/subscriptions/"+s.SubscriptionID+"/providers/"+namespace+"/locations/"+location+"/usages", apiUsages, "")
	out := map[string]Usage{}
	for _, r := range rows {
		out[strings.ToLower(r.Name.Value)] = Usage{Text: r.Name.Text, Used: r.Used, Limit: r.Limit}
	}
	return out, err
}

// Image is a version of an image of the marketplace.
type Image struct {
	Version string
	// Generation is V1 or V2, of the hypervisor; Arch is amd64 or arm64.
	Generation, Arch string
	// Plan tells that the image is bought: its terms are accepted first.
	Plan bool
}

const (
	apiImages     = "2023-07-01"
	apiAgreements = "2021-01-01"
	latest        = "latest"
)

// MarketplaceImage looks an image up in a location; version is a number or latest.
func (s *Session) MarketplaceImage(ctx context.Context, location, publisher, offer, sku, version string) (Image, error) {
	path := fmt.Sprintf("/subscriptions/%s/providers/Microsoft.Compute/locations/%s/publishers/%s/artifacttypes/vmimage/offers/%s/skus/%s/versions", s.SubscriptionID, location, publisher, offer, sku)
	if strings.EqualFold(version, latest) {
		var all []Resource
		if err := s.call(ctx, http.MethodGet, path, apiImages, &all); err != nil {
			return Image{}, err
		}
		if len(all) == 0 {
			return Image{}, &failure.Error{Op: "read", Resource: path, Cause: "the image has no version in " + location, Kind: failure.Terminal}
		}
		version = all[len(all)-1].Name
	}
	found, err := s.Get(ctx, path+"/"+version, apiImages)
	if err != nil {
		return Image{}, err
	}
	return Image{Version: found.Name, Generation: found.Property("hyperVGeneration"), Arch: architectures[found.Property("architecture")], Plan: found.Properties["plan"] != nil}, nil
}

// TermsAccepted tells whether the subscription has accepted the terms of a plan of the marketplace.
func (s *Session) TermsAccepted(ctx context.Context, publisher, offer, plan string) (bool, error) {
	found, err := s.Get(ctx, fmt.Sprintf("/subscriptions/%s/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/%s/offers/%s/plans/%s/agreements/current", s.SubscriptionID, publisher, offer, plan), apiAgreements)
	if err != nil {
		return false, err
	}
	accepted, _ := found.Properties["accepted"].(bool)
	return accepted, nil
}
