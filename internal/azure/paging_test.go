package azure

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A list may go on at the resource manager of a region. The token goes nowhere else.
func TestListsGoOnAtTheResourceManagerOnly(t *testing.T) {
	const path = "/subscriptions/" + uuidB + "/resources"
	for link, want := range map[string]string{
		"https://management.azure.com" + path + "?api-version=2021-04-01&$skiptoken=a%2Fb":        "",
		"https://eastus.management.azure.com" + path + "?api-version=2021-04-01&$skiptoken=a%2Fb": "",
		"http://management.azure.com" + path + "?$skiptoken=a":                                    "no host of the resource manager",
		"https://management.azure.com.example.com" + path:                                         "no host of the resource manager",
		"https://evilmanagement.azure.com" + path:                                                 "no host of the resource manager",
		"https://management.azure.com@example.com" + path:                                         "no host of the resource manager",
		"https://someone@management.azure.com" + path:                                             "no host of the resource manager",
		path + "?$skiptoken=a": "no host of the resource manager",
	} {
		var hosts []string
		answer := transport(func(r *http.Request) *http.Response {
			hosts = append(hosts, r.URL.Host)
			if r.Header.Get("Authorization") == "" {
				t.Errorf("%s is asked without a token", r.URL)
			}
			w := httptest.NewRecorder()
			switch {
			case len(hosts) == 1:
				_, _ = w.WriteString(`{"value":[{"name":"first"}],"nextLink":"` + link + `"}`)
			case r.URL.Query().Get("$skiptoken") != "a/b" || len(hosts) > 2:
				t.Errorf("the next page is asked for with %s", r.URL)
				w.WriteHeader(http.StatusBadRequest)
			default:
				_, _ = w.WriteString(`{"value":[{"name":"second"}]}`)
			}
			out := w.Result()
			out.Request = r
			return out
		})
		client, err := arm.NewClient("test", "v1.0.0", signedIn("{}"), &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: answer}})
		if err != nil {
			t.Fatal(err)
		}
		s := &Session{Credentials: Credentials{SubscriptionID: uuidB}, arm: client}
		all, err := s.List(t.Context(), path, "2021-04-01", "")
		switch {
		case want == "" && (err != nil || len(all) != 2):
			t.Errorf("%s: %d entries, %v", link, len(all), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || len(hosts) != 1):
			t.Errorf("%s: %v, and %v were asked", link, err, hosts)
		}
	}
}
