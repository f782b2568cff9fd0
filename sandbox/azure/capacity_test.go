package azure_test

import (
	"encoding/json"
	"strings"
	"testing"
)

const machinesTemplate = `{
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "parameters": {"count": {"type": "int"}, "name": {"type": "string"}, "size": {"type": "string"}, "location": {"type": "string", "defaultValue": "eastus"}, "network": {"type": "string", "defaultValue": "vnet"}},
  "resources": [
    {"type": "Microsoft.Network/networkInterfaces", "apiVersion": "2023-11-01", "name": "[concat(parameters('name'), copyIndex())]", "location": "[parameters('location')]",
     "copy": {"name": "nics", "count": "[parameters('count')]"},
     "properties": {"ipConfigurations": [{"name": "ip", "properties": {"subnet": {"id": "[resourceId('Microsoft.Network/virtualNetworks/subnets', parameters('network'), 'default')]"}}}]}},
    {"type": "Microsoft.Compute/virtualMachines", "apiVersion": "2024-03-01", "name": "[concat(parameters('name'), copyIndex())]", "location": "[parameters('location')]", "dependsOn": ["nics"],
     "copy": {"name": "machines", "count": "[parameters('count')]"},
     "properties": {"hardwareProfile": {"vmSize": "[parameters('size')]"}, "osProfile": {"computerName": "vm1", ` + logins + `}, "storageProfile": {` + flatcar + `}, "networkProfile": {"networkInterfaces": [{"id": "[resourceId('Microsoft.Network/networkInterfaces', concat(parameters('name'), copyIndex()))]"}]}}}
  ]}`

// machines deploys a template of machines.
func (s *sandbox) machines(name string, parameters map[string]any) answer {
	s.t.Helper()
	parameters["name"] = name
	body, err := json.Marshal(deployment(s.t, machinesTemplate, parameters))
	must(s.t, err)
	return s.call("PUT", inRG+"/providers/Microsoft.Resources/deployments/"+name, string(body), "Content-Type", "application/json")
}

// A subscription has so many cores of a family; some regions lack some sizes; a plan is bought by accepting its terms.
func TestWhatAzureWillNotStart(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.vnet("rg")
	if got := s.machines("fill", map[string]any{"count": 31, "size": "Standard_D32s_v3"}); got.status != 201 {
		t.Fatalf("31 machines: %d %s", got.status, got.text)
	}
	got := s.machines("over", map[string]any{"count": 1, "size": "Standard_D32s_v3"})
	for _, want := range []string{"InvalidTemplateDeployment", "QuotaExceeded", "standardDSv3Family Cores", "Location: eastus, Current Limit: 1000, Current Usage: 992, Additional Required: 32"} {
		if !strings.Contains(got.text, want) {
			t.Errorf("over the quota: %s lacks %q", got.text, want)
		}
	}
	if got := s.machines("other", map[string]any{"count": 1, "size": "Standard_D32s_v5"}); got.status != 201 {
		t.Errorf("another family: %d %s", got.status, got.text)
	}
	usages := s.call("GET", inSub+"/providers/Microsoft.Compute/locations/eastus/usages", "")
	if !strings.Contains(usages.text, `{"currentValue":992,"limit":1000,"name":{"localizedValue":"standardDSv3Family vCPUs"`) {
		t.Errorf("usages: %s", usages.text)
	}

	s.good("PUT", netRP+"virtualNetworks/west", `{"location":"westus","properties":{"addressSpace":{"addressPrefixes":["10.1.0.0/16"]},"subnets":[{"name":"default","properties":{"addressPrefix":"10.1.0.0/24"}}]}}`)
	if got := s.machines("arm", map[string]any{"count": 1, "size": "Standard_D2ps_v5", "location": "westus", "network": "west"}); !strings.Contains(got.text, "SkuNotAvailable") ||
		!strings.Contains(got.text, "Standard_D2ps_v5' is currently not available in location 'westus'") {
		t.Errorf("a size that the region lacks: %s", got.text)
	}
	skus := s.all(inSub + "/providers/Microsoft.Compute/skus?$filter=location%20eq%20'westus'")
	if n := strings.Count(skus.text, "NotAvailableForSubscription"); n != 5 {
		t.Errorf("%d sizes are restricted in westus", n)
	}
}

func TestPlanNeedsItsTermsAccepted(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	nic := s.nic("rg", "nic", s.vnet("rg"))
	vm := inRG + "/providers/Microsoft.Compute/virtualMachines/vm1"
	const free = `"imageReference":{"publisher":"kinvolk","offer":"flatcar-container-linux-free","sku":"stable-gen2","version":"latest"}`
	body := func(plan, image string) string {
		return `{"location":"eastus",` + plan + `"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"},"osProfile":{"computerName":"vm1",` + logins + `},"storageProfile":{` + image + `},"networkProfile":{"networkInterfaces":[{"id":"` + *nic.ID + `"}]}}}`
	}
	const plan = `"plan":{"publisher":"kinvolk","product":"flatcar-container-linux-free","name":"stable-gen2"},`
	s.refusals([]refusal{
		{"PUT", vm, body("", free), 400, "VMMarketplaceInvalidInput", "requires Plan information in the request. VM: '" + vm + "'"},
		{"PUT", vm, body(plan, flatcar), 400, "VMMarketplaceInvalidInput", "The part number in the purchase information for VM '" + vm + "' is not as expected."},
		{"PUT", vm, body(`"plan":{"publisher":"kinvolk","product":"flatcar-container-linux-free","name":"stable"},`, free), 400, "VMMarketplaceInvalidInput", "not as expected"},
		{"PUT", vm, body(plan, free), 400, "MarketplacePurchaseEligibilityFailed", "accept the legal terms"},
	})
	terms := inSub + "/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/kinvolk/offers/flatcar-container-linux-free/plans/stable-gen2/agreements/current"
	got := s.call("GET", terms, "")
	if p, _ := got.body["properties"].(map[string]any); p["accepted"] != false {
		t.Fatalf("terms: %d %s", got.status, got.text)
	}
	s.good("PUT", terms, `{"properties":{"accepted":true}}`)
	if got := s.good("PUT", vm, body(plan, free)); !strings.Contains(got.text, `"exactVersion":"4593.2.1"`) {
		t.Errorf("after: %s", got.text)
	}
}

func TestPolicies(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.group("free")
	const base = inSub + "/providers/Microsoft.Authorization/policyDefinitions/tagged"
	if got := s.call("PUT", base, `{"properties":{}}`); got.code != "InvalidPolicyRule" {
		t.Errorf("without a rule: %s", got.text)
	}
	rule := `{"properties":{"displayName":"Owner named","parameters":{"tag":{"type":"String","defaultValue":"owner"},"effect":{"type":"String","defaultValue":"deny"}},"policyRule":{
		"if":{"allOf":[{"field":"type","like":"Microsoft.Network/*"},{"not":{"field":"name","equals":"exempt"}},
			{"anyOf":[{"field":"tags['owner']","exists":"false"},{"field":"Microsoft.Network/publicIPAddresses/sku.name","notIn":["Standard"]}]}]},
		"then":{"effect":"[parameters('effect')]"}}}}`
	if got := s.call("PUT", base, rule); got.status != 201 {
		t.Fatalf("definition: %d %s", got.status, got.text)
	}
	assignment := inRG + "/providers/Microsoft.Authorization/policyAssignments/tagged"
	if got := s.call("PUT", assignment, `{"properties":{"policyDefinitionId":"`+base+`x"}}`); got.code != "PolicyDefinitionNotFound" {
		t.Errorf("unknown definition: %s", got.text)
	}
	if got := s.call("PUT", assignment, `{"properties":{"policyDefinitionId":"`+base+`"}}`); got.status != 201 {
		t.Fatalf("assignment: %d %s", got.status, got.text)
	}
	for path, c := range map[string]struct{ body, code string }{
		inRG + "/providers/Microsoft.Network/publicIPAddresses/p1":                      {`{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`, "RequestDisallowedByPolicy"},
		inRG + "/providers/Microsoft.Network/publicIPAddresses/p2":                      {`{"location":"eastus","sku":{"name":"Basic"},"tags":{"owner":"me"}}`, "RequestDisallowedByPolicy"},
		inRG + "/providers/Microsoft.Network/publicIPAddresses/p3":                      {`{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"},"tags":{"owner":"me"}}`, ""},
		inRG + "/providers/Microsoft.Network/publicIPAddresses/exempt":                  {`{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`, ""},
		inSub + "/resourceGroups/free/providers/Microsoft.Network/publicIPAddresses/p4": {`{"location":"eastus"}`, ""},
		inRG + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/wid":        {`{"location":"eastus"}`, ""},
	} {
		got := s.call("PUT", path, c.body)
		if got.code != c.code {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
		if c.code != "" && (got.status != 403 || !strings.Contains(got.text, `"policyAssignmentDisplayName":"tagged"`) || !strings.Contains(got.text, `"operator":"`)) {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
	if got := s.call("PATCH", inRG+"/providers/Microsoft.Network/publicIPAddresses/p3", `{"tags":{}}`); got.code != "RequestDisallowedByPolicy" {
		t.Errorf("PATCH: %s", got.text)
	}
	s.call("DELETE", assignment, "")
	if got := s.call("PUT", inRG+"/providers/Microsoft.Network/publicIPAddresses/p1", `{"location":"eastus"}`); got.status != 201 {
		t.Errorf("after the assignment is gone: %d %s", got.status, got.text)
	}
}
