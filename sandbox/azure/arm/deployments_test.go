package arm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const deploymentID = inGroup + "/providers/Microsoft.Resources/deployments/d"

// template is a deployment of resources with parameters.
func template(resources, more string) string {
	return `{"properties":{"mode":"Incremental","template":{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
		"contentVersion":"1.0.0.0",
		"parameters":{"name":{"type":"string"},"secret":{"type":"securestring","defaultValue":""}},"resources":[` + resources + `]` + more +
		`},"parameters":{"name":{"value":"nsg"},"secret":{"value":"hush"}}}}`
}

const (
	oneGroup = `{"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"2024-05-01","name":"[parameters('name')]",
		"location":"[resourceGroup().location]"}`
	wrongGroup = `{"type":"Microsoft.Network/virtualNetworks","apiVersion":"2024-05-01","name":"wrong","location":"westeurope","properties":{}}`
)

// A deployment is made as a whole or not at all: https://learn.microsoft.com/azure/azure-resource-manager/templates/deployment-modes.
func TestDeployments(t *testing.T) {
	s := gateway(t)
	mode := func(m string) string { return strings.Replace(template(oneGroup, ""), "Incremental", m, 1) }
	linked := `{"properties":{"mode":"Incremental","templateLink":{"uri":"https://h/t.json"}}}`
	play(t, s, step{put, deploymentID, `{"properties":{"mode":"Incremental"}}`, 400, "InvalidRequestContent"},
		step{put, deploymentID, linked, 400, "InvalidContentLink"},
		step{put, deploymentID, mode("Complete"), 400, "InvalidDeploymentMode"},
		step{put, deploymentID, template(oneGroup+","+wrongGroup, ""), 400, "InvalidTemplateDeployment"},
		step{put, deploymentID, template(strings.Replace(oneGroup, "'name'", "'none'", 1), ""), 400, "InvalidTemplate"},
		step{get, nsgID, "", 404, "ResourceNotFound"}, step{get, deploymentID, "", 404, "ResourceNotFound"})
	outputs := `,"outputs":{"id":{"type":"string","value":"[resourceId('Microsoft.Network/networkSecurityGroups', parameters('name'))]"}}`
	play(t, s, step{post, deploymentID + "/validate", template(oneGroup, outputs), 200, ""}, step{get, nsgID, "", 404, "ResourceNotFound"}, // it only tries
		step{post, deploymentID + "/validate", template(wrongGroup, ""), 400, "InvalidTemplateDeployment"},
		step{put, deploymentID, template(oneGroup, outputs), 201, ""}, step{put, deploymentID, template(oneGroup, outputs), 200, ""})
	d := shown(t, s, deploymentID)
	made := wire.Docs(wire.Props(d), "outputResources")
	if at(d, "properties.outputs.id.value") != nsgID || len(made) != 1 || wire.Text(made[0], "id") != nsgID ||
		at(d, "properties.provisioningState") != "Succeeded" {
		t.Errorf("a deployment: %v", d)
	}
	if text := fmt.Sprint(d); strings.Contains(text, "hush") || strings.Contains(text, "contentVersion") || at(d, "properties.parameters.name.value") != "nsg" {
		t.Errorf("a deployment shows its secrets, its template, or no parameters: %s", text)
	}
	if d := shown(t, s, nsgID); d["location"] != "westeurope" {
		t.Errorf("what was made: %v", d)
	}
	done := wire.Docs(shown(t, s, deploymentID+"/operations"), "value")
	if len(done) != 1 || at(done[0], "properties.targetResource.id") != nsgID || at(done[0], "properties.provisioningState") != "Succeeded" {
		t.Errorf("operations: %v", done)
	}
	play(t, s, step{remove, deploymentID, "", 202, ""}, step{get, nsgID, "", 200, ""}, // the history goes, what it made stays
		step{put, strings.Replace(deploymentID, "/rg/", "/none/", 1), template(oneGroup, ""), 404, "ResourceGroupNotFound"},
		step{post, strings.Replace(deploymentID, "/rg/", "/none/", 1) + "/validate", template(oneGroup, ""), 404, "ResourceGroupNotFound"})
}

// A deployment has the rights of its caller, no others.
func TestRightsOfADeployment(t *testing.T) {
	s := gateway(t)
	define(t, s, "deploys", permission([]any{"Microsoft.Resources/*", "Microsoft.ManagedIdentity/*"}, nil, nil))
	assign(t, s, other, "deploys", inGroup)
	if status, code, _ := send(s, other, put, deploymentID, parse(t, template(oneGroup, ""))); status != 400 || code != "InvalidTemplateDeployment" {
		t.Errorf("what one may not make: %d %s", status, code)
	}
	identity := `{"type":"Microsoft.ManagedIdentity/userAssignedIdentities","apiVersion":"2023-01-31","name":"[parameters('name')]","location":"westeurope"}`
	want(t, s, other, put, deploymentID, parse(t, template(identity, "")), 201)
	want(t, s, other, get, identityID("nsg"), nil, 200)
	want(t, s, owner, put, inGroup+authorizationIn+"locks/l", parse(t, `{"properties":{"level":"ReadOnly"}}`), 201)
	if status, code, _ := send(s, other, put, deploymentID, parse(t, template(identity, ""))); status != 409 || code != "ScopeLocked" {
		t.Errorf("in a group that is locked: %d %s", status, code)
	}
}

// What policies would say of something that nobody has made: https://learn.microsoft.com/rest/api/policyinsights/policy-restrictions.
func TestPolicyRestrictions(t *testing.T) {
	s := gateway(t)
	const ask = "/providers/Microsoft.PolicyInsights/checkPolicyRestrictions"
	definition := inSubscription + authorizationIn + "policyDefinitions/no-address"
	have(t, s, definition, `{"properties":{"mode":"All","policyRule":{"if":{"field":"type","equals":"Microsoft.Network/publicIPAddresses"},
		"then":{"effect":"deny"}}}}`,
		inGroup+authorizationIn+"policyAssignments/here", `{"properties":{"policyDefinitionId":"`+definition+`"}}`)
	content := func(typ string) wire.Doc {
		return parse(t, `{"resourceDetails":{"apiVersion":"2024-05-01","resourceContent":{"type":"`+typ+`","name":"x","location":"westeurope"}}}`)
	}
	for where, c := range map[string]struct {
		typ string
		n   int
	}{inGroup: {"Microsoft.Network/publicIPAddresses", 1}, inSubscription: {"Microsoft.Network/publicIPAddresses", 0},
		strings.ToUpper(inGroup): {"microsoft.network/PUBLICIPADDRESSES", 1}} {
		got := want(t, s, owner, post, where+ask, content(c.typ), 200)
		evaluations := wire.Docs(wire.Sub(got, "contentEvaluationResult"), "policyEvaluations")
		if len(evaluations) != c.n || c.n == 1 && at(evaluations[0], "policyInfo.policyDefinitionId") != definition {
			t.Errorf("%s: %v, want %d", where, got, c.n)
		}
	}
	if got := want(t, s, owner, post, inGroup+ask, content("Microsoft.Network/natGateways"),
		200); len(wire.Docs(wire.Sub(got, "contentEvaluationResult"), "policyEvaluations")) != 0 {
		t.Errorf("what no policy is about: %v", got)
	}
	play(t, s, step{post, inGroup + ask, `{"resourceDetails":{}}`, 400, "InvalidCheckRestrictionsRequest"},
		step{put, networkIn + "publicIPAddresses/x",
			`{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`, 403, "RequestDisallowedByPolicy"})
}
