package azure

import (
	"context"
	"net/http"
	"net/url"
)

// apiNames is the version of the API that knows whether the name of a storage account is free.
const apiNames = "2023-01-01"

// StorageNameRefused is why Azure would refuse a new storage account of this name, in its own words: its name is another customer's, or none. It
// is empty for a name that is free.
func (s *Session) StorageNameRefused(ctx context.Context, name string) (string, error) {
	var answer struct {
		Available bool   `json:"nameAvailable"`
		Reason    string `json:"reason"`
		Message   string `json:"message"`
	}
	path := "/subscriptions/" + s.SubscriptionID + "/providers/Microsoft.Storage/checkNameAvailability"
	body := map[string]string{"name": name, "type": "Microsoft.Storage/storageAccounts"}
	if err := s.callQuery(ctx, http.MethodPost, path, apiNames, url.Values{}, body, &answer); err != nil || answer.Available {
		return "", err
	}
	return answer.Reason + ": " + answer.Message, nil
}
