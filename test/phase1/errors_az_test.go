package phase1

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// azCLI is the unmodified az, signed in to an embedded Azure.
type azCLI struct {
	shell
	world *world
}

func newAz(t *testing.T) azCLI {
	t.Helper()
	needAz(t)
	dir := t.TempDir()
	w := startWorld(t, dir)
	must(t, azcli.Install(filepath.Join(dir, "azcli")))
	az := azCLI{w.shell(t, dir, "REQUESTS_CA_BUNDLE="+w.ca, "PYTHONPATH="+filepath.Join(dir, "azcli"), "AZURE_CONFIG_DIR="+filepath.Join(dir, "azure-config"), "AZURE_CORE_COLLECT_TELEMETRY=no"), w}
	az.good("", "login", "--service-principal", "-u", clientID, "-p", secret, "--tenant", tenant)
	return az
}

// good runs a command that has to succeed and to print the text.
func (az azCLI) good(want string, args ...string) string {
	az.t.Helper()
	stdout, stderr, err := az.try(append([]string{"az"}, args...)...)
	if err != nil || !strings.Contains(stdout, want) {
		az.t.Errorf("az %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return strings.TrimSpace(stdout)
}

// bad runs a command that has to be refused with the texts.
func (az azCLI) bad(wants []string, args ...string) {
	az.t.Helper()
	stdout, stderr, err := az.try(append([]string{"az"}, args...)...)
	if err == nil {
		az.t.Errorf("az %s succeeded: %s", strings.Join(args, " "), stdout)
	}
	for _, want := range wants {
		if !strings.Contains(stderr, want) {
			az.t.Errorf("az %s: %s, want %q in it", strings.Join(args, " "), stderr, want)
		}
	}
}

// TestAzDeploysTemplates has az deploy what a user may have, and what az itself makes of a load balancer.
func TestAzDeploysTemplates(t *testing.T) {
	az := newAz(t)
	file := filepath.Join(az.dir, "template.json")
	must(t, os.WriteFile(file, []byte(groupTemplate), 0o600))
	az.good("/virtualNetworks/mine-vnet", "deployment", "group", "create", "-g", "parent", "--template-file", file, "--parameters", "prefix=mine", "--query", "properties.outputs.vnet.value")
	az.good("Succeeded", "network", "lb", "create", "-g", "parent", "-n", "lb1", "--sku", "Standard")
	az.bad([]string{"InvalidTemplate", "template parameter 'prefix'"}, "deployment", "group", "validate", "-g", "parent", "--template-file", file, "--parameters", "prefix=ab")
}

// TestAzSharesBlobs uploads a snapshot as an administrator does, and hands out addresses that can be read for some hours.
func TestAzSharesBlobs(t *testing.T) {
	az := newAz(t)
	file := filepath.Join(az.dir, "demo.db")
	content := bytes.Repeat([]byte("0123456789abcdef"), 65<<20/16) // more than az sends in one request
	must(t, os.WriteFile(file, content, 0o600))
	login := func(args ...string) []string {
		return append(append([]string{"storage"}, args...), "--account-name", "backups", "--auth-mode", "login")
	}
	az.good("", "storage", "account", "create", "-g", "parent", "-n", "backups", "--allow-blob-public-access", "false")
	object := az.good("", "ad", "sp", "show", "--id", clientID, "--query", "id", "-o", "tsv")
	az.good("", "role", "assignment", "create", "--assignee-object-id", object, "--assignee-principal-type", "ServicePrincipal", "--role", "Storage Blob Data Contributor", "--scope", "/subscriptions/"+subscription)
	az.good("true", login("container", "create", "--name", "etcd")...)
	az.good("", login("blob", "upload", "--container-name", "etcd", "--name", "2026/demo.db", "--file", file)...)

	expiry := time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04Z")
	of := []string{"--container-name", "etcd", "--name", "2026/demo.db", "--permissions", "r", "--expiry", expiry, "--full-uri", "-o", "tsv"}
	byUser := az.good("sig=", append(login("blob", "generate-sas"), append(of, "--as-user")...)...)
	key := az.good("", "storage", "account", "keys", "list", "-g", "parent", "-n", "backups", "--query", "[0].value", "-o", "tsv")
	byKey := az.good("sig=", append([]string{"storage", "blob", "generate-sas", "--account-name", "backups", "--account-key", key}, of...)...)
	client := az.world.client()
	for by, address := range map[string]string{"user": byUser, "key": byKey} {
		if status, got := read(t, client, address); status != http.StatusOK || !bytes.Equal(got, content) {
			t.Errorf("%s: %s answers %d with %d bytes", by, address, status, len(got))
		}
	}
	if status, got := read(t, client, strings.Split(byUser, "?")[0]); status != http.StatusConflict || !bytes.Contains(got, []byte("PublicAccessNotPermitted")) {
		t.Errorf("without a signature: %d %s", status, got)
	}
	az.good("2026/demo.db", "storage", "blob", "list", "--container-name", "etcd", "--connection-string", "AccountName=backups;EndpointSuffix=core.windows.net;AccountKey="+key)
	az.good("", "storage", "account", "update", "-g", "parent", "-n", "backups", "--allow-shared-key-access", "false")
	az.bad([]string{"Key based authentication is not permitted"}, "storage", "blob", "list", "--container-name", "etcd", "--account-name", "backups", "--account-key", key)
	if status, got := read(t, client, byKey); status != http.StatusForbidden || !bytes.Contains(got, []byte("KeyBasedAuthenticationNotPermitted")) {
		t.Errorf("a key's signature where keys are not allowed: %d %s", status, got)
	}
}

func read(t *testing.T, client *http.Client, address string) (int, []byte) {
	t.Helper()
	resp, err := client.Get(address)
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, data
}
