package azure_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

// Each planted fault of a request is refused in the words of its provider, or taken no notice of where the provider takes none; told it is always.
func TestContractOfRequests(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	nsg, vm, account := netRP+"networkSecurityGroups/nsg", computeRP+"virtualMachines/vm1", inRG+"/providers/Microsoft.Storage/storageAccounts/acct"
	s.refusals([]refusal{
		{"PUT", nsg + "?api-version=2099-01-01", `{"location":"eastus"}`, 400, "NoRegisteredProviderFound", "No registered resource provider found for location 'eastus' and API version '2099-01-01' for type 'networkSecurityGroups'. The supported api-versions are '2025-07-01, 2025-03-01,"},
		{"GET", netRP + "networkSecurityGroups?api-version=2023-01-31", "", 404, "InvalidResourceType", "The resource type 'networkSecurityGroups' could not be found in the namespace 'Microsoft.Network' for api version '2023-01-31'."},
		{"PUT", netRP + "dnsZones/example.com?api-version=2024-05-01", `{"location":"global"}`, 400, "NoRegisteredProviderFound", "for type 'dnsZones'. The supported api-versions are '2023-07-01-preview, 2018-05-01,"},
		{"GET", inRG + "?api-version=2099-01-01", "", 400, "InvalidApiVersionParameter", "The api-version '2099-01-01' is invalid. The supported versions are '2025-04-01,"},
		{"PUT", nsg, `{"location":"eastus","propertys":{}}`, 400, "InvalidRequestContent", "Could not find member 'propertys' on object of type 'ResourceDefinition'. Path 'propertys'."},
		{"PUT", nsg, `{"location":"eastus","properties":{"rules":[]}}`, 400, "InvalidRequestFormat", "Could not find member 'rules' on object of type 'SecurityGroupPropertiesFormat'. Path 'properties.rules'."},
		{"PUT", nsg, `{"location":"eastus","properties":{"securityRules":[{"name":"r","properties":{"protocol":"Tcp","access":"Allow","direction":"Inbound","priority":"100"}}]}}`, 400, "InvalidRequestFormat", "properties.securityRules[0].properties.priority"},
		{"PUT", nsg, `{"location":"eastus","properties":{"securityRules":[{"name":"r","properties":{"protocol":"Sctp","access":"Allow",
			"direction":"Inbound","priority":100,"sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*",
			"destinationPortRange":"*"}}]}}`, 400, "InvalidRequestFormat", "'Sctp' is none of *, Ah, Esp, Icmp, Tcp, Udp"},
		{"PUT", vm, `{"location":"eastus","properties":{"storageProfile":{"osDiskk":{}}}}`, 400, "BadRequest", `Could not find member 'osDiskk' on object of type 'StorageProfile'. Path 'properties.storageProfile.osDiskk'.","target":"vm.properties.storageProfile.osDiskk"`},
		{"PUT", account, `{"location":"eastus","kind":"StorageV2","sku":{"name":"Standard_LRS"},"properties":{"supportsHttpsTrafficOnly":"yes"}}`, 400, "InvalidValuesForRequestParameters", "properties.supportsHttpsTrafficOnly"},
		{"PUT", inRG, `{"location":"eastus","tags":{"n":1}}`, 400, "InvalidRequestContent", "tags.n"},
	})
	if got := s.call("GET", nsg, ""); got.status != 404 {
		t.Errorf("something of a refused request is kept: %s", got.text)
	}
	s.good("PUT", nsg, `{"location":"eastus","etag":"mine","properties":{"resourceGuid":"mine","securityRules":[{"name":"r","properties":{"protocol":"tcp","access":"allow","direction":"INBOUND","priority":100,
		"sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"*"}}]}}`)
	got := s.good("GET", nsg, "").text
	if strings.Contains(got, "mine") || !strings.Contains(got, `"protocol":"Tcp"`) || !strings.Contains(got, `"direction":"Inbound"`) {
		t.Errorf("what is read-only was taken, or values keep the client's spelling: %s", got)
	}
	wrong := 0
	for _, v := range s.violations() {
		if v.Side == access.SideAnswer || !v.Refused || v.Client != access.ClientUnknown {
			t.Error(v)
		}
		wrong += v.Count
	}
	if wrong != 7 {
		t.Errorf("the access log tells of %d violations: %v", wrong, s.violations())
	}
}

// Storage ignores what it does not know: the request goes through, is told of, and the test of who sends it turns red.
func TestToleratedPropertyIsAFault(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	path := inRG + "/providers/Microsoft.Storage/storageAccounts/acct"
	s.good("PUT", path, `{"location":"eastus","kind":"StorageV2","sku":{"name":"Standard_LRS"},"properties":{"wrongProperty":true}}`)
	faults := schema.Faults(s.violations())
	if len(faults) != 1 || !strings.Contains(faults[0].String(), "request of PUT Microsoft.Storage/storageAccounts 2024-01-01: unknown property: properties.wrongProperty of AccountPropertiesCreateParameters") {
		t.Errorf("faults: %v", faults)
	}
	must(t, os.Remove(filepath.Join(s.cfg.Dir, "access.log"))) // the fault was meant
	must(t, os.WriteFile(filepath.Join(s.cfg.Dir, "access.log"), []byte(`{"plane":"arm","method":"GET","url":"https://management.azure.com/subscriptions","status":200}`), 0o600))
}

// A template's resource is read at the api-version that the template gives it.
func TestContractOfTemplates(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	for version, code := range map[string]string{"2024-05-01": "InvalidRequestFormat", "2099-05-01": "NoRegisteredProviderFound"} {
		got := s.call("PUT", inRG+"/providers/Microsoft.Resources/deployments/d", `{"properties":{"mode":"Incremental","template":{"$schema":"https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",
			"resources":[{"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"`+version+`","name":"nsg","location":"eastus","properties":{"rules":[]}}]}}}`)
		if !strings.Contains(got.text, code) {
			t.Errorf("%s: %d %s, want %s", version, got.status, got.text, code)
		}
	}
}

func (s *sandbox) violations() []schema.Violation {
	s.t.Helper()
	f, err := os.Open(filepath.Join(s.cfg.Dir, "access.log"))
	must(s.t, err)
	defer f.Close()
	found, err := schema.Replay(f)
	must(s.t, err)
	return found
}
