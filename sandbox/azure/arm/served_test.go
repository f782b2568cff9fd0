package arm

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// What the gateway finds out from the address alone, before it asks who calls.
func TestTargets(t *testing.T) {
	s := gateway(t)
	const version = "?api-version=2024-03-01"
	for address, code := range map[string]string{
		inGroup:                                "MissingApiVersionParameter",
		inGroup + "?api-version=":              "MissingApiVersionParameter",
		inGroup + "?api-version=latest":        "InvalidApiVersionParameter",
		inGroup + "?api-version=2024-3-1":      "InvalidApiVersionParameter",
		inGroup + "?api-version=2024-03-01-ga": "",
		inGroup + version:                      "",
		"/subscriptions/00000000-0000-4000-8000-000000000009/resourceGroups/rg" + version: "SubscriptionNotFound",
		"/subscriptions/mine/resourceGroups/rg" + version:                                 "InvalidSubscriptionId",
		strings.ToUpper(inGroup) + version:                                                "",
		inGroup + "/providers/Microsoft.Nothing/x/y" + version:                            "InvalidResourceNamespace",
		inGroup + "/providers/microsoft.network/virtualNetworks/v" + version:              "",
		inGroup + "//providers/Microsoft.Network///virtualNetworks/v" + version:           "",
		"/" + version: "InvalidResourceType",
		inGroup + "/providers/Microsoft.Network/virtualNetworks/%C3%A4" + version: "InvalidResourceType",
	} {
		_, err := s.target(httptest.NewRequest(http.MethodGet, "https://management.azure.com"+address, http.NoBody))
		var refused *provider.Error
		if errors.As(err, &refused); code != "" && (refused == nil || refused.Code != code) || code == "" && err != nil {
			t.Errorf("%s: %v, want %q", address, err, code)
		}
	}
}

func TestBodies(t *testing.T) {
	for name, c := range map[string]struct {
		method, body string
		status       int
	}{
		"none":              {put, "", 0},
		"blanks":            {put, " \n", 0},
		"an object":         {put, `{"a":1}`, 0},
		"a list":            {put, `[1]`, 400},
		"null":              {put, `null`, 400},
		"half an object":    {put, `{"a":`, 400},
		"two objects":       {put, `{} {}`, 400},
		"a GET is not read": {get, `{"a":`, 0},
		"too much":          {put, `{"a":"` + strings.Repeat("x", maxBody) + `"}`, 413},
	} {
		_, err := readBody(httptest.NewRequest(c.method, "https://management.azure.com/", strings.NewReader(c.body)))
		var refused *provider.Error
		if errors.As(err, &refused); c.status == 0 && err != nil || c.status != 0 && (refused == nil || refused.Status != c.status) {
			t.Errorf("%s: %v, want %d", name, err, c.status)
		}
	}
}

// A list with a $top is cut there; one that Azure's contract has in pages is cut in any case; a client finds the rest behind the nextLink.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		method, query string
		items         int
		pages         bool
		first         int
	}{
		"a short list":                {get, "", 2, true, 2},
		"a longer one":                {get, "", 3, true, 2},
		"four pages":                  {get, "", 40, true, 10},
		"a list that is on one page":  {get, "", 40, false, 40},
		"as many as asked":            {get, "$top=7", 40, true, 7},
		"asked of a list on one page": {get, "$top=7", 40, false, 7},
		"more than there are":         {get, "$top=41", 40, true, 40},
		"just as many as there are":   {get, "$top=40", 40, true, 40},
		"none are no number":          {get, "$top=0", 40, false, 40},
		"words are no number":         {get, "$top=all", 40, false, 40},
		"a POST that answers a list":  {post, "$top=7", 40, true, 40},
	} {
		items := make([]any, c.items)
		out := provider.Answer(http.StatusOK, wire.Doc{"value": items})
		out.Pages = c.pages
		page(httptest.NewRequest(c.method, "https://management.azure.com"+inGroup+"?api-version=1&"+c.query, http.NoBody), out)
		d := out.Body.(wire.Doc)
		if got := len(wire.List(d, "value")); got != c.first || (wire.Text(d, "nextLink") != "") != (got < c.items) {
			t.Errorf("%s: %d items and the link %q, want %d", name, got, wire.Text(d, "nextLink"), c.first)
		}
		if next := wire.Text(d, "nextLink"); next != "" &&
			(!strings.HasPrefix(next, "https://management.azure.com"+inGroup+"?") || !strings.Contains(next, "api-version=1")) {
			t.Errorf("%s: the next page is at %s", name, next)
		}
	}
}

// Where the profile defers them, deletions show as Deleting and hold everything up inside until they end.
func TestWhatLeaves(t *testing.T) {
	s := gateway(t)
	var err error
	if s.Pace, err = pace.New(pace.Realistic, 0, 1000); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/24"), nsgID, `{"location":"westeurope"}`)
	play(t, s, step{remove, vnetID, "", 202, ""}, step{get, vnetID, "", 200, ""}, step{remove, vnetID, "", 202, ""}, // one that is under way goes on
		step{put, vnetID, vnetOf(), 409, "AnotherOperationInProgress"},
		step{put, vnetID + "/subnets/b", `{"properties":{"addressPrefix":"10.0.1.0/24"}}`, 409, "AnotherOperationInProgress"},
		step{patch, vnetID, `{"tags":{}}`, 409, "AnotherOperationInProgress"})
	if got := at(shown(t, s, vnetID), "properties.provisioningState"); got != "Deleting" {
		t.Errorf("while it leaves: %v", got)
	}
	play(t, s, step{remove, inGroup, "", 202, ""}, step{put, nsgID, `{"location":"westeurope"}`, 409, "ResourceGroupBeingDeleted"},
		step{put, inGroup, `{"location":"westeurope"}`, 409, "ResourceGroupBeingDeleted"},
		step{get, nsgID, "", 200, ""})
	err = s.store.Update(func(tx *store.Tx) error { // time passes
		for _, r := range tx.Scan(store.Leaving, "") {
			tx.Put(store.Leaving, r.Key, store.Doc{"until": time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.settle(); err != nil {
		t.Fatal(err)
	}
	play(t, s, step{get, nsgID, "", 404, "ResourceGroupNotFound"}, step{put, inGroup, `{"location":"westeurope"}`, 201, ""},
		step{get, nsgID, "", 404, "ResourceNotFound"}, step{put, nsgID, `{"location":"westeurope"}`, 201, ""})
}
