package provider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	rg   = "/subscriptions/s/resourceGroups/rg"
	vnet = rg + "/providers/Microsoft.Network/virtualNetworks/v"
)

// What paths mean: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-providers-and-types.
func TestPaths(t *testing.T) {
	for path, want := range map[string]struct {
		typ, scope, names string
		collection        bool
		parent, group     string
		depth             int
	}{
		"/subscriptions":                        {TypeSubscription, "", "", true, "", "", 1},
		"/subscriptions/s/":                     {TypeSubscription, "", "s", false, "", "", 1},
		rg:                                      {TypeResourceGroup, "", "rg", false, "", rg, 1},
		"/subscriptions/s/RESOURCEGROUPS/rg":    {TypeResourceGroup, "", "rg", false, "", "/subscriptions/s/RESOURCEGROUPS/rg", 1},
		"/subscriptions/s/resourceGroups":       {TypeResourceGroup, "", "s", true, "", "", 1},
		"/subscriptions/s/locations":            {"Microsoft.Resources/locations", "", "s", true, "", "", 1},
		vnet:                                    {"Microsoft.Network/virtualNetworks", rg, "v", false, "", rg, 1},
		vnet + "/subnets":                       {"Microsoft.Network/virtualNetworks/subnets", rg, "v", true, vnet, rg, 2},
		vnet + "/subnets/a":                     {"Microsoft.Network/virtualNetworks/subnets", rg, "v a", false, vnet, rg, 2},
		rg + "/providers/Microsoft.Network":     {"Microsoft.Network", rg, "", false, "", rg, 0},
		vnet + "/providers/Microsoft.A/locks/l": {"Microsoft.A/locks", vnet, "l", false, "", rg, 1},
		"/providers/Microsoft.A/roles/r":        {"Microsoft.A/roles", "", "r", false, "", "", 1},
	} {
		p, err := ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p.Type != want.typ || p.Scope != want.scope || strings.Join(p.Names, " ") != want.names || p.Collection != want.collection ||
			p.Parent() != want.parent || p.ResourceGroup() != want.group || p.Depth() != want.depth {
			t.Errorf("%s: %+v, beneath %q in %q, %d deep", path, p, p.Parent(), p.ResourceGroup(), p.Depth())
		}
	}
	for _, path := range []string{"", "/", "//", "/subscriptions//resourceGroups", "/subscriptions/ä", "/subscriptions/a\x00b", "/subscriptions/a\tb"} {
		if p, err := ParsePath(path); err == nil {
			t.Errorf("%q is %+v", path, p)
		}
	}
	if SegmentAfter(vnet+"/subnets/a", "VIRTUALNETWORKS") != "v" || SegmentAfter(vnet, "none") != "" ||
		SegmentsBefore(vnet+"/Subnets/a", "/subnets/") != vnet || SegmentsBefore(vnet, "/none/") != vnet {
		t.Error("segments")
	}
	if Key(vnet+"/") != strings.ToLower(vnet) || Key("a") != "/a" || LastSegment(vnet) != "v" {
		t.Error("keys")
	}
}

// Links go through lists and objects to what a document leads to, each target once.
func TestTargets(t *testing.T) {
	d := Doc{"identity": Doc{"userAssignedIdentities": Doc{"/b": Doc{}, "/a": Doc{}}},
		"properties": Doc{"one": Doc{"id": "/x"}, "empty": Doc{"id": ""}, "text": "t",
			"list": []any{Doc{"in": Doc{"id": "/2"}}, Doc{"in": Doc{"id": "/1"}}, Doc{"in": Doc{"id": "/2"}}, Doc{}, "text"}}}
	for field, want := range map[string]string{
		"properties.one.id": "/x", "properties.list.*.in.id": "/1 /2", "identity.userAssignedIdentities.*": "/a /b", "properties.empty.id": "",
		"properties.none.id": "", "properties.text.id": "",
	} {
		if got := strings.Join((Link{Field: field}).Targets(d), " "); got != want {
			t.Errorf("%s leads to %q, want %q", field, got, want)
		}
	}
	for link, want := range map[Link]string{{Action: ReadIt}: "Microsoft.Network/virtualNetworks/read", {Action: JoinNetwork}: JoinNetwork} {
		if got := link.ActionAt(vnet); got != want {
			t.Errorf("%+v needs %s, want %s", link, got, want)
		}
	}
}

func TestConditionsOfAFilter(t *testing.T) {
	for filter, want := range map[string]string{
		"": "[]", "name eq 'a'": "[{name a}]", "NAME EQ 'A' and location eq 'b'": "[{name A} {location b}]", "name eq 'it''s'": "[{name it's}]",
		"tags/x eq 'y'": "[{tags/x y}]", "name eq ''": "[{name }]",
		"atScope()": "[]", "assignedTo('p')": "[{principalid p}]", "atScope() and principalId eq 'p'": "[{principalid p}]", "name ne 'a'": "[]",
	} {
		if got := fmt.Sprint(Conditions(filter)); got != want {
			t.Errorf("%q: %s, want %s", filter, got, want)
		}
	}
	r := &Resource{Type: "A/b", Name: "N", ID: rg + "/providers/A/b/N", Body: Doc{"location": "eastus", "properties": Doc{"roleName": "Reader", "n": 1.0}}}
	for filter, want := range map[string]bool{"roleName eq 'READER'": true, "rolename eq 'other'": false, "n eq '1'": false, "none eq 'x'": false,
		"resourceGroup eq 'RG'": true, "": true} {
		if got := ParseFilter(filter)(r); got != want {
			t.Errorf("%q holds: %v", filter, got)
		}
	}
}

func TestNames(t *testing.T) {
	rule := &NameRule{Pattern: Pattern(`^[a-z]*$`), Code: "Bad", Demand: "Letters.", Shortest: 2, Longest: 3}
	for name, taken := range map[string]bool{"a": false, "ab": true, "abc": true, "abcd": false, "a1": false, "": false} {
		err := rule.Check(name)
		if (err == nil) != taken {
			t.Errorf("%q: %v", name, err)
		}
		if e, ok := err.(*Error); err != nil && (!ok || e.Status != http.StatusBadRequest || e.Code != "Bad" || !strings.Contains(e.Message, "Letters.")) {
			t.Errorf("%q: %v", name, err)
		}
	}
	var none *NameRule
	if none.Check("anything at all") != nil {
		t.Error("no rule refuses")
	}
}

// An operation shows until its time is over, that of the latest request.
func TestRunningOperations(t *testing.T) {
	o := NewOperations()
	o.start(vnet, "Updating", time.Now().Add(time.Hour))
	if o.State(strings.ToUpper(vnet)) != "Updating" || o.State(vnet+"/subnets/a") != "" {
		t.Error("the operation of a resource, whatever the case of its id, and of nothing else")
	}
	o.start(vnet, "Deleting", time.Now().Add(time.Hour))
	if o.State(vnet) != "Deleting" {
		t.Error("the latest one shows")
	}
	o.start(vnet, "Updating", time.Now())
	if o.State(vnet) != "" || len(o.ends) != 0 {
		t.Error("one that is over")
	}
}

// Where clients poll: https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations.
func TestOperationHeaders(t *testing.T) {
	profile, err := pace.New(pace.Fast, time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path          string
		location      bool
		async, result bool
		namespace     string
	}{
		"a write":             {vnet, false, true, false, "Microsoft.Network"},
		"a deletion":          {vnet, true, true, true, "Microsoft.Network"},
		"of a resource group": {rg, true, false, true, "Microsoft.Resources"}, // whose clients look at the result alone
	} {
		p, err := ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Options: Options{Subscription: "s", Location: "westeurope", Pace: profile}, Kinds: Table{}, Path: p,
			Req: httptest.NewRequest(http.MethodPut, "https://management.azure.com/x?api-version=2024-05-01", nil)}
		out, end := Answer(http.StatusAccepted, nil), call.OperationEnd()
		call.OperationHeaders(out, end, c.location)
		for header, there := range map[string]bool{"Azure-Asyncoperation": c.async, "Location": c.result} {
			text := out.Header.Get(header)
			u, err := url.Parse(text)
			if (text != "") != there || err != nil {
				t.Errorf("%s: %s is %q", name, header, text)
			}
			if !there {
				continue
			}
			what := map[bool]string{true: "/operations/", false: "/operationResults/"}[header != "Location"]
			if !strings.HasPrefix(u.Path, "/subscriptions/s/providers/"+c.namespace+"/locations/westeurope"+what) ||
				u.Query().Get("api-version") != "2024-05-01" || u.Query().Get("t") != strconv.FormatInt(end.UnixMilli(), 10) {
				t.Errorf("%s: %s is %s", name, header, text)
			}
		}
		if out.Header.Get("Retry-After") == "" || time.Until(end) < 50*time.Second {
			t.Errorf("%s: %v until %v", name, out.Header, end)
		}
	}
}

// What is being deleted is held with all that is in it, and nothing beside it.
func TestLeaving(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	err = s.Update(func(tx *store.Tx) error {
		c := &Call{Tx: tx, Kinds: Table{}, Running: NewOperations()}
		c.Save(vnet, "Microsoft.Network/virtualNetworks", Doc{})
		c.Save(vnet+"/subnets/a", "Microsoft.Network/virtualNetworks/subnets", Doc{})
		c.Leave(vnet, now.Add(time.Hour))
		c.Leave(rg+"2", now.Add(-time.Second))
		for id, of := range map[string]string{vnet: vnet, vnet + "/subnets/a": vnet, strings.ToUpper(vnet): vnet, vnet + "2": "", rg: "",
			rg + "2/providers/x/y/z": rg + "2"} {
			if got := c.Leaves(id); got != Key(of)[:len(of)] {
				t.Errorf("%s leaves with %q, want %q", id, got, of)
			}
		}
		if at := c.LeavesAt(vnet); !at.Equal(now.Add(time.Hour)) || !c.LeavesAt(rg).IsZero() {
			t.Errorf("until %v", at)
		}
		due, next := Left(tx, now)
		if len(due) != 1 || due[0] != Key(rg+"2") || !next.Equal(now.Add(time.Hour)) {
			t.Errorf("due are %v, and then at %v", due, next)
		}
		if state := wire.Text(wire.Props(c.View(c.Get(vnet+"/subnets/a"))), "provisioningState"); state != "Deleting" {
			t.Errorf("what leaves with another is %q", state)
		}
		c.Remove(vnet)
		if c.Get(vnet) != nil || c.Get(vnet+"/subnets/a") != nil || c.Leaves(vnet) != "" {
			t.Error("what was removed is there, or still leaves")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
