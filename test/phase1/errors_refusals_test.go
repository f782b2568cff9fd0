package phase1

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const machinesTemplate = `{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "parameters": {"name": {"type": "string"}, "count": {"type": "int"}, "size": {"type": "string"}, "location": {"type": "string"}, "plan": {"type": "object"}, "offer": {"type": "string"}},
  "resources": [
    {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2023-11-01", "name": "[concat(parameters('name'), '-vnet')]", "location": "[parameters('location')]",
     "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [{"name": "default", "properties": {"addressPrefix": "10.0.0.0/24"}}]}},
    {"type": "Microsoft.Network/networkInterfaces", "apiVersion": "2023-11-01", "name": "[concat(parameters('name'), copyIndex())]", "location": "[parameters('location')]",
     "dependsOn": ["[concat(parameters('name'), '-vnet')]"], "copy": {"name": "nics", "count": "[parameters('count')]"},
     "properties": {"ipConfigurations": [{"name": "ip", "properties": {"subnet": {"id": "[resourceId('Microsoft.Network/virtualNetworks/subnets', concat(parameters('name'), '-vnet'), 'default')]"}}}]}},
    {"type": "Microsoft.Compute/virtualMachines", "apiVersion": "2024-03-01", "name": "[concat(parameters('name'), copyIndex())]", "location": "[parameters('location')]",
     "dependsOn": ["nics"], "copy": {"name": "machines", "count": "[parameters('count')]"}, "plan": "[parameters('plan')]",
     "properties": {"hardwareProfile": {"vmSize": "[parameters('size')]"},
       "osProfile": {"computerName": "vm", "adminUsername": "core", "adminPassword": "Correct-Horse-7"},
       "storageProfile": {"imageReference": {"publisher": "kinvolk", "offer": "[parameters('offer')]", "sku": "stable-gen2", "version": "latest"}},
       "networkProfile": {"networkInterfaces": [{"id": "[resourceId('Microsoft.Network/networkInterfaces', concat(parameters('name'), copyIndex()))]"}]}}}]}`

// machines are virtual machines that a template asks for.
type machines struct {
	name, size, location string
	count                int
	plan                 map[string]any // of what is bought
}

// refusal is an error as the embedded Azure answers it.
type refusal struct {
	status        int
	Code, Message string
	Details       []refusal
}

// find returns the refusal with a code: this one, or one of its details.
func (r refusal) find(code string) (refusal, bool) {
	if r.Code == code {
		return r, true
	}
	for _, d := range r.Details {
		d.status = r.status
		if found, ok := d.find(code); ok {
			return found, true
		}
	}
	return refusal{}, false
}

// deploy asks for machines, and returns why there are none.
func (w *errorWorld) deploy(m machines) refusal {
	w.t.Helper()
	var template map[string]any
	must(w.t, json.Unmarshal([]byte(machinesTemplate), &template))
	parameters, offer := map[string]any{}, "flatcar-container-linux-corevm-amd64"
	if product, bought := m.plan["product"].(string); bought {
		offer = product
	}
	for name, v := range map[string]any{"offer": offer, "name": m.name, "count": m.count, "size": m.size, "location": m.location, "plan": m.plan} {
		parameters[name] = map[string]any{"value": v}
	}
	_, err := w.session.Put(context.Background(), w.session.ResourceID("parent", "Microsoft.Resources/deployments", m.name), "2021-04-01",
		azure.Resource{Properties: map[string]any{"mode": "Incremental", "template": template, "parameters": parameters}})
	if err == nil {
		return refusal{}
	}
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		w.t.Fatal(err)
	}
	raw, err := runtime.Payload(answer.RawResponse)
	must(w.t, err)
	var body struct{ Error refusal }
	must(w.t, json.Unmarshal(raw, &body))
	body.Error.status = answer.StatusCode
	return body.Error
}

// refused has Azure refuse the public address of a cluster in the very words that it refuses machines in.
func (w *errorWorld) refused(code string, m machines) []string {
	w.t.Helper()
	if m.plan == nil {
		m.plan = map[string]any{}
	}
	got := w.deploy(m)
	found, ok := got.find(code)
	if !ok {
		w.t.Fatalf("the embedded Azure does not refuse %+v with %s, but with %+v", m, code, got)
	}
	w.fault(fault.Rule{Plane: fault.ARM, Method: "PUT", Path: "Microsoft.Network/publicIPAddresses/*", Create: true, Status: found.status, Code: found.Code, Message: found.Message})
	return w.infra("refused")
}

// TestRefusalIsFound: what the mishaps take their words from.
func TestRefusalIsFound(t *testing.T) {
	all := refusal{status: 400, Code: "Outer", Details: []refusal{{Code: "Other"}, {Code: "Inner", Message: "why"}}}
	if got, ok := all.find("Inner"); !ok || got.Message != "why" || got.status != 400 {
		t.Errorf("found %+v, %t", got, ok)
	}
	if got, ok := all.find("None"); ok {
		t.Errorf("found %+v", got)
	}
}

func TestEmptyAccessLogIsNoCheck(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "azure"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "azure", "access.log"), nil, 0o600))
	if err := replay(dir); err == nil {
		t.Error("an access log with nothing in it passes")
	}
}
