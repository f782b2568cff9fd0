package azure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
)

const networkTemplate = `{
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "parameters": {
    "prefix": {"type": "string", "minLength": 2},
    "subnets": {"type": "int", "defaultValue": 2, "maxValue": 4},
    "size": {"type": "string", "defaultValue": "small", "allowedValues": ["small", "large"]},
    "password": {"type": "securestring", "defaultValue": "none"}
  },
  "variables": {"vnet": "[concat(parameters('prefix'), '-vnet')]", "wide": "[equals(parameters('size'), 'large')]"},
  "resources": [
    {"type": "Microsoft.Network/virtualNetworks/subnets", "apiVersion": "2023-11-01", "name": "[format('{0}/s{1}', variables('vnet'), copyIndex())]",
     "copy": {"name": "each", "count": "[parameters('subnets')]"}, "dependsOn": ["[resourceId('Microsoft.Network/virtualNetworks', variables('vnet'))]"],
     "properties": {"addressPrefix": "[concat('10.0.', copyIndex(1), '.0/24')]"}},
    {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2023-11-01", "name": "[variables('vnet')]", "location": "[resourceGroup().location]",
     "properties": {"addressSpace": {"addressPrefixes": ["[if(variables('wide'), '10.0.0.0/8', '10.0.0.0/16')]"]}}},
    {"type": "Microsoft.Network/publicIPAddresses", "apiVersion": "2023-11-01", "name": "unwanted", "location": "eastus", "condition": "[variables('wide')]"},
    {"type": "Microsoft.ManagedIdentity/userAssignedIdentities", "apiVersion": "2023-01-31", "name": "[parameters('prefix')]", "location": "eastus",
     "tags": {"network": "[reference(variables('vnet')).addressSpace.addressPrefixes[0]]"}},
    {"type": "Microsoft.Authorization/roleAssignments", "apiVersion": "2022-04-01", "name": "[guid(resourceGroup().id, parameters('prefix'))]",
     "properties": {"principalId": "[reference(resourceId('Microsoft.ManagedIdentity/userAssignedIdentities', parameters('prefix'))).principalId]", "principalType": "ServicePrincipal",
       "roleDefinitionId": "[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'acdd72a7-3385-48ef-bd42-f606fba81ae7')]"}}
  ],
  "outputs": {"client": {"type": "string", "value": "[reference(parameters('prefix')).clientId]"}, "subnets": {"type": "int", "value": "[length(reference(variables('vnet')).subnets)]"}}
}`

func deployment(t *testing.T, text string, parameters map[string]any) armresources.Deployment {
	t.Helper()
	var tmpl map[string]any
	must(t, json.Unmarshal([]byte(text), &tmpl))
	given := map[string]any{}
	for k, v := range parameters {
		given[k] = map[string]any{"value": v}
	}
	return armresources.Deployment{Properties: &armresources.DeploymentProperties{Mode: to.Ptr(armresources.DeploymentModeIncremental), Template: tmpl, Parameters: given}}
}

func (s *sandbox) deployments() *armresources.DeploymentsClient {
	c, err := armresources.NewDeploymentsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	return c
}

func TestDeployment(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ctx := t.Context()
	d := deployment(t, networkTemplate, map[string]any{"prefix": "demo", "password": "hush"})
	v, err := s.deployments().BeginValidate(ctx, "rg", "net", d, nil)
	if valid := done(t, v, err); valid.Error != nil || len(valid.Properties.ValidatedResources) != 5 {
		t.Fatalf("validation: %+v", valid)
	}
	if got := s.call("GET", "/subscriptions/"+subscription+"/resourceGroups/rg/resources", ""); strings.Contains(got.text, "demo-vnet") {
		t.Fatal("a validation leaves something behind")
	}
	p, err := s.deployments().BeginCreateOrUpdate(ctx, "rg", "net", d, nil)
	out := done(t, p, err)
	got := out.Properties.Outputs.(map[string]any)
	if got["subnets"].(map[string]any)["value"] != 2.0 || string(*out.Properties.ProvisioningState) != "Succeeded" {
		t.Errorf("outputs %v, state %s", got, *out.Properties.ProvisioningState)
	}
	if given := out.Properties.Parameters.(map[string]any); given["password"] != nil || given["prefix"] == nil {
		t.Errorf("parameters %v", given)
	}
	subnet, err := s.network().NewSubnetsClient().Get(ctx, "rg", "demo-vnet", "s1", nil)
	must(t, err)
	if *subnet.Properties.AddressPrefix != "10.0.2.0/24" {
		t.Errorf("prefix %s", *subnet.Properties.AddressPrefix)
	}
	mi := s.call("GET", "/subscriptions/"+subscription+"/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo", "")
	if mi.body["tags"].(map[string]any)["network"] != "10.0.0.0/16" || !strings.Contains(mi.text, got["client"].(map[string]any)["value"].(string)) {
		t.Errorf("identity %s", mi.text)
	}
	page, err := s.deployments().NewListByResourceGroupPager("rg", nil).NextPage(ctx)
	must(t, err)
	if len(page.Value) != 1 {
		t.Errorf("%d deployments", len(page.Value))
	}
	// The same again changes nothing.
	p, err = s.deployments().BeginCreateOrUpdate(ctx, "rg", "net", d, nil)
	done(t, p, err)
	x, err := s.deployments().BeginDelete(ctx, "rg", "net", nil)
	done(t, x, err)
}

func TestTemplatesThatAreRefused(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	const head = `{"$schema":"x","contentVersion":"1.0.0.0",`
	resource := func(rest string) string {
		return head + `"resources":[{"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"2023-11-01","name":"nsg","location":"eastus"` + rest + `}]}`
	}
	for name, c := range map[string]struct {
		text       string
		parameters map[string]any
		code, want string
	}{
		"no schema":           {`{"resources":[]}`, nil, "InvalidTemplate", "Required property '$schema' not found"},
		"parameter missing":   {networkTemplate, nil, "InvalidTemplate", "The value for the template parameter 'prefix' is not provided"},
		"parameter unknown":   {networkTemplate, map[string]any{"prefix": "ab", "preffix": "x"}, "InvalidTemplate", "The template parameters 'preffix' in the parameters file are not valid"},
		"not allowed":         {networkTemplate, map[string]any{"prefix": "ab", "size": "huge"}, "InvalidTemplate", "not part of the allowed value(s): 'small,large'"},
		"wrong type":          {networkTemplate, map[string]any{"prefix": 7}, "InvalidTemplate", "Expected 'string'. Actual 'int'"},
		"too short":           {networkTemplate, map[string]any{"prefix": "a"}, "InvalidTemplate", "minLength is 2"},
		"too many":            {networkTemplate, map[string]any{"prefix": "ab", "subnets": 5}, "InvalidTemplate", "maxValue is 4"},
		"function unknown":    {resource(`,"tags":{"a":"[nonsense('x')]"}`), nil, "InvalidTemplate", "The template function 'nonsense' is not valid"},
		"syntax":              {resource(`,"tags":{"a":"[concat('x']"}`), nil, "InvalidTemplate", "is not valid: unexpected text"},
		"dependency unknown":  {resource(`,"dependsOn":["other"]`), nil, "InvalidTemplate", "The resource 'other' is not defined in the template"},
		"circle":              {resource(`,"dependsOn":["nsg"]`), nil, "InvalidTemplate", "Circular dependency detected"},
		"reference in circle": {resource(`,"tags":{"a":"[reference('nsg').x]"}`), nil, "InvalidTemplate", "Circular dependency detected"},
		"segments":            {head + `"resources":[{"type":"Microsoft.Network/virtualNetworks/subnets","apiVersion":"2024-05-01","name":"only"}]}`, nil, "InvalidTemplate", "incorrect segment lengths"},
		"no api-version":      {head + `"resources":[{"type":"Microsoft.Network/networkSecurityGroups","name":"nsg"}]}`, nil, "InvalidTemplate", "'apiVersion' are required"},
		"variable in circle":  {head + `"variables":{"a":"[variables('a')]"},"resources":[],"outputs":{"o":{"type":"string","value":"[variables('a')]"}}}`, nil, "InvalidTemplate", "Circular reference detected"},
		"unknown namespace":   {head + `"resources":[{"type":"Microsoft.Nonsense/things","apiVersion":"2024-05-01","name":"x","location":"eastus"}]}`, nil, "InvalidTemplateDeployment", "InvalidResourceNamespace"},
		"refused resource":    {head + `"resources":[{"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"2024-05-01","name":"ends-","location":"eastus"}]}`, nil, "InvalidTemplateDeployment", "InvalidResourceName"},
	} {
		for _, what := range []string{"", "/validate"} {
			body, err := json.Marshal(deployment(t, c.text, c.parameters))
			must(t, err)
			method := map[string]string{"": "PUT", "/validate": "POST"}[what]
			got := s.call(method, "/subscriptions/"+subscription+"/resourceGroups/rg/providers/Microsoft.Resources/deployments/d"+what, string(body), "Content-Type", "application/json")
			if got.status != 400 || got.code != c.code || !strings.Contains(got.text, c.want) {
				t.Errorf("%s%s: %d %s", name, what, got.status, got.text)
			}
		}
	}
	if got := s.call("GET", "/subscriptions/"+subscription+"/resourceGroups/rg/providers/Microsoft.Resources/deployments", ""); got.status != 200 || strings.Contains(got.text, `"d"`) {
		t.Errorf("a refused deployment is kept: %s", got.text)
	}
}
