package phase1

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/azcli"
)

const groupTemplate = `{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "parameters": {"prefix": {"type": "string", "minLength": 3}, "place": {"type": "string", "defaultValue": "[resourceGroup().location]"}},
  "resources": [
    {"type": "Microsoft.Network/networkSecurityGroups", "apiVersion": "2023-11-01", "name": "[concat(parameters('prefix'), '-nsg')]", "location": "[parameters('place')]"},
    {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2023-11-01", "name": "[concat(parameters('prefix'), '-vnet')]", "location": "[parameters('place')]",
     "dependsOn": ["[resourceId('Microsoft.Network/networkSecurityGroups', concat(parameters('prefix'), '-nsg'))]"],
     "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [{"name": "default", "properties": {"addressPrefix": "10.0.0.0/24",
       "networkSecurityGroup": {"id": "[resourceId('Microsoft.Network/networkSecurityGroups', concat(parameters('prefix'), '-nsg'))]"}}}]}}],
  "outputs": {"vnet": {"type": "string", "value": "[resourceId('Microsoft.Network/virtualNetworks', concat(parameters('prefix'), '-vnet'))]"}}}`

// TestAzDeploysTemplates has az deploy what a user may have, and what az itself makes of a load balancer.
func TestAzDeploysTemplates(t *testing.T) {
	needAz(t)
	dir := t.TempDir()
	w, stop, err := newWorld(dir)
	must(t, err)
	t.Cleanup(func() {
		stop()
		must(t, replayStatusCodes(dir))
	})
	must(t, azcli.Install(filepath.Join(dir, "azcli")))
	file := filepath.Join(dir, "template.json")
	must(t, os.WriteFile(file, []byte(groupTemplate), 0o600))
	az := func(args ...string) (string, error) {
		cmd := exec.Command("az", args...)
		cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://"+w.server.ProxyAddr(), "SSL_CERT_FILE="+w.ca, "REQUESTS_CA_BUNDLE="+w.ca, "PYTHONPATH="+filepath.Join(dir, "azcli"),
			"AZURE_CONFIG_DIR="+filepath.Join(dir, "azure-config"), "AZURE_CORE_COLLECT_TELEMETRY=no")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	good := func(want string, args ...string) {
		t.Helper()
		if out, err := az(args...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("az %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	good("", "login", "--service-principal", "-u", clientID, "-p", secret, "--tenant", tenant)
	good("/virtualNetworks/mine-vnet", "deployment", "group", "create", "-g", "parent", "--template-file", file, "--parameters", "prefix=mine", "--query", "properties.outputs.vnet.value")
	good("Succeeded", "network", "lb", "create", "-g", "parent", "-n", "lb1", "--sku", "Standard")
	out, err := az("deployment", "group", "validate", "-g", "parent", "--template-file", file, "--parameters", "prefix=ab")
	if err == nil || !strings.Contains(out, "InvalidTemplate") || !strings.Contains(out, "template parameter 'prefix'") {
		t.Errorf("a value that is too short: %v\n%s", err, out)
	}
}
