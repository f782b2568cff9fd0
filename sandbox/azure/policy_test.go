package azure_test

import (
	"fmt"
	"strings"
	"testing"
)

// policy assigns a definition with a condition to the group, with more properties of both.
func (s *sandbox) policy(condition, ofDefinition, ofAssignment string) answer {
	s.t.Helper()
	const authorization = "/providers/Microsoft.Authorization/"
	definition := inSub + authorization + "policyDefinitions/p"
	got := s.call("PUT", definition, `{"properties":{"policyRule":{"if":`+condition+`,"then":{"effect":"deny"}}`+ofDefinition+`}}`)
	if got.status != 201 {
		return got
	}
	return s.call("PUT", inSub+authorization+"policyAssignments/p", `{"properties":{"policyDefinitionId":"`+definition+`"`+ofAssignment+`}}`)
}

func TestPolicyOperators(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	const address = `{"location":"eastus","tags":{"owner":"Team-7a","date":"2026-01-02"},"sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static","idleTimeoutInMinutes":4}}`
	minutes := func(rest string) string {
		return `{"field":"Microsoft.Network/publicIPAddresses/idleTimeoutInMinutes",` + rest + `}`
	}
	owner := func(rest string) string { return `{"field":"tags['owner']",` + rest + `}` }
	for condition, denied := range map[string]bool{
		minutes(`"equals":4`): true, minutes(`"equals":"4"`): true, minutes(`"equals":5`): false, minutes(`"notEquals":4`): false, minutes(`"in":[4,5]`): true,
		minutes(`"less":5`): true, minutes(`"less":4`): false, minutes(`"lessOrEquals":4`): true, minutes(`"greater":4`): false, minutes(`"greater":3`): true,
		minutes(`"greaterOrEquals":4`): true, minutes(`"greaterOrEquals":5`): false,
		`{"field":"tags.date","less":"2026-02-01"}`: true, `{"field":"tags.date","greater":"2026-02-01"}`: false, `{"field":"tags.none","less":"2"}`: false,
		`{"field":"id","like":"*/resourceGroups/rg/*"}`: true, `{"field":"id","like":"*/resourcegroups/r/*"}`: false, `{"field":"type","like":"*addresses"}`: true, `{"field":"type","notLike":"Microsoft.Network*"}`: false,
		`{"field":"name","like":"a[b-d]*"}`: false,
		owner(`"contains":"team"`):          true, owner(`"contains":"x"`): false, owner(`"notContains":"x"`): true,
		owner(`"match":"Team-#?"`): true, owner(`"match":"team-#?"`): false, owner(`"match":"Team-??"`): false, owner(`"match":"....-.."`): true, owner(`"notMatch":"Team-#?"`): false,
		owner(`"matchInsensitively":"team-#?"`): true, owner(`"notMatchInsensitively":"team-#?"`): false,
	} {
		if got := s.policy(condition, "", ""); got.status != 201 {
			t.Fatalf("%s: %d %s", condition, got.status, got.text)
		}
		got := s.call("PUT", inRG+"/providers/Microsoft.Network/publicIPAddresses/a", address)
		if (got.code == "RequestDisallowedByPolicy") != denied || !denied && got.status >= 300 {
			t.Errorf("%s: %d %s", condition, got.status, got.text)
		}
	}
}

func TestPoliciesThatAreNotUnderstood(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	for condition, want := range map[string]string{
		`{"field":"type","resembles":"x"}`:                                           "operator 'resembles'",
		`{"allOf":[{"not":{"field":"type","resembles":"x"}}]}`:                       "operator 'resembles'",
		`{"count":{"field":"tags"},"greater":1}`:                                     "'count'",
		`{"value":"[resourceGroup().name]","equals":"x"}`:                            "'value'",
		`{"field":"type","equals":"[concat('a','b')]"}`:                              "[parameters('name')]",
		`{"field":"[concat('tags')]","exists":true}`:                                 "does not evaluate the field",
		`{"field":"Microsoft.Network/virtualNetworks/subnets[*].name","equals":"x"}`: "does not evaluate the field",
		`{"field":"type"}`:                         "exactly one operator",
		`{"field":"type","equals":"a","like":"b"}`: "exactly one operator",
		`{"anyOf":[]}`:                             "needs a list",
		`{"not":{"field":"type","equals":"a"},"field":"type","equals":"b"}`: "stands alone",
		`{"not":[]}`: "must be an object",
	} {
		if got := s.policy(condition, "", ""); got.status != 400 || got.code != "InvalidPolicyRule" || !strings.Contains(got.text, want) {
			t.Errorf("%s: %d %s", condition, got.status, got.text)
		}
	}
}

func TestPolicyModesAndScopes(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.group("free")
	const everything = `{"field":"name","exists":true}`
	group, address := inSub+"/resourceGroups/new", "/providers/Microsoft.Network/publicIPAddresses/a"
	for i, c := range []struct {
		definition, assignment string
		path                   string
		denied                 bool
	}{
		{"", "", group, false},
		{"", "", inRG + address, true},
		{`,"mode":null`, "", group, false},
		{`,"mode":"Indexed"`, "", group, false},
		{`,"mode":"indexed"`, "", inRG + address, true},
		{`,"mode":"All"`, "", group, true},
		{`,"mode":"Microsoft.Kubernetes.Data"`, "", inRG + address, false},
		{"", `,"notScopes":["` + strings.ToUpper(inSub) + `/resourceGroups/FREE"]`, inSub + "/resourceGroups/free" + address, false},
		{"", `,"notScopes":["` + inSub + `/resourceGroups/r"]`, inRG + address, true},
		{"", `,"enforcementMode":"DoNotEnforce"`, inRG + address, false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := s.policy(everything, c.definition, c.assignment); got.status != 201 {
				t.Fatalf("%d %s", got.status, got.text)
			}
			got := s.call("PUT", c.path, `{"location":"eastus"}`)
			if (got.code == "RequestDisallowedByPolicy") != c.denied || !c.denied && got.status >= 300 {
				t.Errorf("%+v: %d %s", c, got.status, got.text)
			}
		})
	}
	vnet := inRG + "/providers/Microsoft.Network/virtualNetworks/vnet"
	s.policy(everything, "", `,"enforcementMode":"DoNotEnforce"`)
	if got := s.call("PUT", vnet, `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`); got.status != 201 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	for _, c := range []struct {
		mode   string
		status int
	}{{"All", 403}, {"Indexed", 201}} {
		s.policy(everything, `,"mode":"`+c.mode+`"`, "")
		if got := s.call("PUT", vnet+"/subnets/a", `{"properties":{"addressPrefix":"10.0.0.0/24"}}`); got.status != c.status {
			t.Errorf("subnet, mode %s: %d %s", c.mode, got.status, got.text)
		}
	}
}
