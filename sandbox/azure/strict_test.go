package azure_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// refusals sends each request and compares the code and a part of the words.
func (s *sandbox) refusals(list []refusal) {
	s.t.Helper()
	for _, r := range list {
		if got := s.call(r.method, r.path, r.body); got.status != r.status || got.code != r.code || !strings.Contains(got.text, r.text) {
			s.t.Errorf("%s %s: %d %s, want %d %s with %q", r.method, r.path, got.status, got.text, r.status, r.code, r.text)
		}
	}
}

type refusal struct {
	method, path, body string
	status             int
	code, text         string
}

// good sends a request that has to be done.
func (s *sandbox) good(method, path, body string) answer {
	s.t.Helper()
	got := s.call(method, path, body)
	if got.status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, got.status, got.text)
	}
	return got
}

// What Azure has and the sandbox does not is refused in one sentence on every plane, and nothing looks made; what Azure does not have
// either is told as Azure tells it.
func TestWhatIsNotServed(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	const code, sentence = "NotServedBySandbox", "is not served by the embedded Azure of the sandbox"
	s.refusals([]refusal{
		{"PUT", computeRP + "virtualMachineScaleSets/ss", `{"location":"eastus"}`, 501, code, sentence},
		{"GET", computeRP + "virtualMachineScaleSets", "", 501, code, sentence},
		{"PUT", inRG + "/providers/Microsoft.ContainerService/managedClusters/aks", `{"location":"eastus"}`, 501, code, sentence},
		{"GET", inSub + "/providers/Microsoft.ContainerService/managedClusters", "", 501, code, sentence},
		{"POST", "/providers/Microsoft.ResourceGraph/resources", `{"query":"Resources"}`, 501, code, sentence},
		{"GET", inSub + "/providers/Microsoft.Insights/eventtypes/management/values", "", 501, code, sentence},
		{"PUT", netRP + "virtualNetworks/v/virtualNetworkPeerings/p", `{"properties":{}}`, 501, code, sentence},
		{"PUT", netRP + "virtualNetworks/vnet", `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"virtualNetworkPeerings":[{"name":"p","properties":{"remoteVirtualNetwork":{"id":"` + netRP + `virtualNetworks/other"}}}]}}`, 501, code, sentence},
		{"GET", netRP + "privateLinkServices", "", 200, "", `"value":[]`},
		{"PUT", netRP + "privateEndpoints/pe", `{"location":"eastus","properties":{}}`, 501, code, sentence},
		{"PUT", netRP + "privateLinkServices/pls", `{"location":"eastus","properties":{}}`, 501, code, sentence},
		{"POST", computeRP + "virtualMachines/vm/capture", "", 501, code, sentence},
		{"GET", inSub + "/tagNames", "", 501, code, sentence},
		{"PUT", netRP + "fooBars/x", `{"location":"eastus"}`, 404, "InvalidResourceType", "The resource type 'fooBars' could not be found in the namespace 'Microsoft.Network' for api version '2021-04-01'. The supported api-versions are '2025-07-01,"},
		{"GET", netRP + "fooBars", "", 404, "InvalidResourceType", "fooBars"},
		{"GET", netRP + "virtualNetworks/v/fooBars/x", "", 404, "InvalidResourceType", "virtualNetworks/fooBars"},
		{"GET", computeRP + "virtualMachines/none/providers/Microsoft.Insights/metrics", "", 404, "ResourceNotFound", "virtualMachines/none"},
		{"PUT", inRG + "/providers/Microsoft.Resources/deployments/d", `{"properties":{"mode":"Incremental","template":{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",
			"resources":[{"type":"Microsoft.ContainerService/managedClusters","apiVersion":"2024-01-01","name":"aks","location":"eastus"}]}}}`, 400, "InvalidTemplateDeployment", sentence},
	})
	if got := s.call("GET", inRG+"/resources", ""); len(got.body["value"].([]any)) != 0 {
		t.Errorf("made: %s", got.text)
	}
	s.account("rg", "acct", false)
	for _, host := range []string{"acct.queue", "acct.file", "acct.table", "acct.dfs"} {
		if got := s.request("GET", "https://"+host+".core.windows.net/x", ""); got.status != 501 || !strings.Contains(got.text, sentence) || got.header.Get("x-ms-error-code") != code {
			t.Errorf("%s: %d %s", host, got.status, got.text)
		}
	}
}

// Locks act on what they are put on and on what is inside, and let go when they are gone.
func TestLocks(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	nsg := netRP + "networkSecurityGroups/nsg"
	lock := func(scope, level string) string {
		id := scope + "/providers/Microsoft.Authorization/locks/keep"
		s.good("PUT", id, `{"properties":{"level":"`+level+`","notes":"ours"}}`)
		return id
	}
	s.good("PUT", nsg, `{"location":"eastus"}`)
	const locked = "ScopeLocked"
	words := func(at, verb, by string) string {
		return fmt.Sprintf("The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again.", at, verb, by)
	}
	onResource := lock(nsg, "CanNotDelete")
	s.good("PUT", nsg, `{"location":"eastus","tags":{"a":"b"}}`)
	s.refusals([]refusal{
		{"DELETE", nsg, "", 409, locked, words(nsg, "delete", nsg)},
		{"DELETE", inRG, "", 409, locked, words(inRG, "delete", nsg)},
		{"PUT", nsg + "/providers/Microsoft.Authorization/locks/other", `{"properties":{"level":"Sometimes"}}`, 400, "LockLevelNotSupported", "Sometimes"},
		{"PUT", netRP + "networkSecurityGroups/none/providers/Microsoft.Authorization/locks/x", `{"properties":{"level":"ReadOnly"}}`, 404, "ResourceNotFound", "none"},
	})
	s.good("DELETE", onResource, "")
	s.account("rg", "acct", false)
	onGroup := lock(inRG, "ReadOnly")
	s.refusals([]refusal{
		{"PUT", nsg, `{"location":"eastus"}`, 409, locked, words(nsg, "write", inRG)},
		{"PATCH", nsg, `{"tags":{}}`, 409, locked, words(nsg, "write", inRG)},
		{"PUT", netRP + "networkSecurityGroups/second", `{"location":"eastus"}`, 409, locked, inRG},
		{"POST", account + "/listKeys", "", 409, locked, inRG},
		{"DELETE", nsg, "", 409, locked, inRG},
	})
	s.good("GET", nsg, "")
	if got := s.good("GET", inSub+"/providers/Microsoft.Authorization/locks", ""); !strings.Contains(got.text, onGroup) {
		t.Errorf("list: %s", got.text)
	}
	s.good("DELETE", onGroup, "")
	s.good("DELETE", nsg, "")
	s.good("DELETE", inRG, "")
}

// Azure's own rules of resources that only look like documents.
func TestRulesOfNetworksAndZones(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	zone := netRP + "dnszones/example.com"
	address := func(name string) string {
		id := netRP + "publicIPAddresses/" + name
		s.good("PUT", id, `{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`)
		return id
	}
	nat := func(pip string) string {
		return `{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIpAddresses":[{"id":"` + pip + `"}]}}`
	}
	lb := netRP + "loadBalancers/lb"
	balancer := func(pip, snat string) string {
		return strings.NewReplacer("PIP", pip, "SNAT", snat, "LB", lb).Replace(`{"location":"eastus","sku":{"name":"Standard"},"properties":{
			"frontendIPConfigurations":[{"name":"fe","properties":{"publicIPAddress":{"id":"PIP"}}}],"backendAddressPools":[{"name":"pool"}],
			"loadBalancingRules":[{"name":"in","properties":{SNAT"protocol":"Tcp","frontendPort":443,"backendPort":443,"frontendIPConfiguration":{"id":"LB/frontendIPConfigurations/fe"},"backendAddressPool":{"id":"LB/backendAddressPools/pool"}}}],
			"outboundRules":[{"name":"out","properties":{"protocol":"All","frontendIPConfigurations":[{"id":"LB/frontendIPConfigurations/fe"}],"backendAddressPool":{"id":"LB/backendAddressPools/pool"}}}]}}`)
	}
	one, two := address("one"), address("two")
	s.good("PUT", lb, balancer(one, `"disableOutboundSnat":true,`))
	s.good("PUT", netRP+"natGateways/nat", nat(two))
	s.good("PUT", netRP+"natGateways/nat", nat(two))
	s.good("PUT", netRP+"networkSecurityGroups/nsg", `{"location":"eastus"}`)
	s.good("PUT", zone, `{"location":"global"}`)
	s.good("PUT", zone+"/A/www", `{"properties":{"TTL":60,"ARecords":[{"ipv4Address":"1.1.1.9"}]}}`)
	s.good("PUT", zone+"/CNAME/alias", `{"properties":{"TTL":60,"CNAMERecord":{"cname":"www.example.com"}}}`)
	s.good("PUT", zone+"/CNAME/alias", `{"properties":{"TTL":30,"CNAMERecord":{"cname":"www.example.com"}}}`)
	s.refusals([]refusal{
		{"PUT", zone + "/CNAME/www", `{"properties":{"TTL":60,"CNAMERecord":{"cname":"x.example.com"}}}`, 409, "Conflict", "The CNAME record could not be created because another record with the same name already exists in this zone."},
		{"PUT", zone + "/TXT/alias", `{"properties":{"TTL":60,"TXTRecords":[{"value":["x"]}]}}`, 409, "Conflict", "a CNAME record with the same name"},
		{"PUT", zone + "/CNAME/@", `{"properties":{"TTL":60,"CNAMERecord":{"cname":"x.example.com"}}}`, 400, "BadRequest", "apex"},
		{"PUT", zone + "/A/bad", `{"properties":{"TTL":60,"ARecords":[{"ipv4Address":"1.1.1.999"}]}}`, 400, "BadRequest", "1.1.1.999"},
		{"PUT", zone + "/AAAA/bad", `{"properties":{"TTL":60,"AAAARecords":[{"ipv6Address":"1.1.1.9"}]}}`, 400, "BadRequest", "1.1.1.9"},
		{"PUT", netRP + "networkSecurityGroups/nsg", `{"location":"westus2"}`, 409, "InvalidResourceLocation", "The resource 'nsg' already exists in location 'eastus' in resource group 'rg'. A resource with the same name cannot be created in location 'westus2'."},
		{"PATCH", netRP + "networkSecurityGroups/nsg", `{"location":"West US 2"}`, 400, "InvalidRequestFormat", "location"},
		{"PUT", netRP + "natGateways/second", nat(two), 400, "PublicIPAddressInUse", "natGateways/nat"},
		{"PUT", netRP + "natGateways/second", nat(one), 400, "PublicIPAddressInUse", "loadBalancers/lb"},
		{"PUT", netRP + "natGateways/nat", nat(one), 400, "PublicIPAddressInUse", "loadBalancers/lb"},
		{"PUT", lb, balancer(two, ""), 400, "PublicIPAddressInUse", "natGateways/nat"},
		{"PUT", lb, balancer(one, ""), 400, "LoadBalancingRuleMustDisableSNATSinceSameFrontendIPConfigurationIsReferencedByOutboundRule", "outboundRules/out"},
	})
	s.good("GET", strings.Replace(netRP+"networkSecurityGroups/nsg", "/networkSecurityGroups", "//networkSecurityGroups", 1), "")
}

// Data disks are attached and let go of, each in a slot of its own, and a disk keeps its size.
func TestDataDisks(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.nic("rg", "nic", s.vnet("rg"))
	vm, first := computeRP+"virtualMachines/vm1", computeRP+"disks/first"
	s.good("PUT", first, `{"location":"eastus","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`)
	body := func(disks string) string {
		return `{"location":"eastus","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"},"storageProfile":{` + flatcar + `,"osDisk":{"name":"os","createOption":"FromImage"}` + disks + `},
			"osProfile":{"computerName":"vm1",` + logins + `},"networkProfile":{"networkInterfaces":[{"id":"` + netRP + `networkInterfaces/nic"}]}}}`
	}
	attach := `{"lun":0,"createOption":"Attach","managedDisk":{"id":"` + first + `"}}`
	if got := s.good("PUT", vm, body("")); !strings.Contains(got.text, `"dataDisks":[]`) {
		t.Errorf("no data disks: %s", got.text)
	}
	s.refusals([]refusal{
		{"PUT", vm, body(`,"dataDisks":[` + attach + `,{"lun":0,"name":"more","createOption":"Empty","diskSizeGB":4}]`), 400, "InvalidParameter", "A disk at LUN 0 already exists."},
		{"PUT", vm, body(`,"dataDisks":[{"lun":1,"createOption":"Attach","managedDisk":{"id":"` + computeRP + `disks/none"}}]`), 404, "NotFound", "disks/none"},
		{"PUT", vm, body(`,"dataDisks":[{"name":"x","createOption":"Empty","diskSizeGB":4}]`), 400, "InvalidParameter", "lun"},
	})
	s.good("PATCH", vm, `{"properties":{"storageProfile":{"dataDisks":[`+attach+`]}}}`)
	if got := s.good("PUT", vm, body("")); !strings.Contains(got.text, `disks/first"`) {
		t.Errorf("a PUT that says nothing of data disks: %s", got.text)
	}
	if got := s.good("GET", first, ""); got.body["managedBy"] != vm || !strings.Contains(got.text, `"diskState":"Attached"`) {
		t.Errorf("attached: %s", got.text)
	}
	s.good("PUT", first, `{"location":"eastus","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":16}}`)
	s.refusals([]refusal{
		{"DELETE", first, "", 409, "OperationNotAllowed", "vm1"},
		{"PUT", first, `{"location":"eastus","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4}}`, 409, "OperationNotAllowed", "cannot be resized down"},
		{"PATCH", first, `{"properties":{"diskSizeGB":4}}`, 409, "OperationNotAllowed", "cannot be resized down"},
		{"PATCH", computeRP + "disks/os", `{"properties":{"diskSizeGB":64}}`, 409, "OperationNotAllowed", "deallocated"},
	})
	s.good("PATCH", vm, `{"properties":{"storageProfile":{"dataDisks":[]}}}`)
	if got := s.good("GET", first, ""); got.body["managedBy"] != nil || !strings.Contains(got.text, `"diskState":"Unattached"`) {
		t.Errorf("detached: %s", got.text)
	}
	s.good("DELETE", first, "")
}

// The hypervisor knows no difference between a machine that is off and one whose hardware is let go of; the instance view does.
func TestDeallocatedIsNotStopped(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.vm("rg", "vm1", s.nic("rg", "nic", s.vnet("rg")))
	vm := computeRP + "virtualMachines/vm1"
	for _, c := range []struct{ action, reported, want string }{
		{"deallocate", feed.PowerRunning, "deallocating"}, {"deallocate", feed.PowerStopped, "deallocated"},
		{"start", feed.PowerRunning, "running"}, {"powerOff", feed.PowerStopped, "stopped"},
	} {
		s.good("POST", vm+"/"+c.action, "")
		must(t, s.feed().Report(t.Context(), feed.Status{ID: vm, PowerState: c.reported}))
		if got := s.good("GET", vm+"/instanceView", ""); !strings.Contains(got.text, `"PowerState/`+c.want+`"`) {
			t.Errorf("%s and reported %s: %s", c.action, c.reported, got.text)
		}
	}
}

// A namespace that is not registered takes nothing new, and can be registered.
func TestProviderRegistration(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	state := func(ns string) any { return s.good("GET", inSub+"/providers/"+ns, "").body["registrationState"] }
	change := func(ns, action, under, done string) {
		t.Helper()
		if got := s.good("POST", inSub+"/providers/"+ns+"/"+action, ""); got.body["registrationState"] != under {
			t.Errorf("%s %s: %v", action, ns, got.body["registrationState"])
		}
		for range 1000 {
			if state(ns) == done {
				return
			}
		}
		t.Errorf("%s is %v, want %s", ns, state(ns), done)
	}
	vault := inRG + "/providers/Microsoft.KeyVault/vaults/keeper"
	body := `{"location":"eastus","properties":{"tenantId":"` + tenant + `","sku":{"family":"A","name":"standard"}}}`
	change("Microsoft.KeyVault", "unregister", "Unregistering", "Unregistered")
	s.restart()
	s.refusals([]refusal{
		{"PUT", vault, body, 409, "MissingSubscriptionRegistration", "The subscription is not registered to use namespace 'Microsoft.KeyVault'. See https://aka.ms/rps-not-found for how to register subscriptions."},
		{"POST", inSub + "/providers/Microsoft.Nothing/register", "", 404, "InvalidResourceNamespace", "Microsoft.Nothing"},
	})
	s.good("GET", inSub+"/providers/Microsoft.KeyVault/vaults", "")
	change("Microsoft.KeyVault", "register", "Registering", "Registered")
	s.good("PUT", vault, body)
	s.refusals([]refusal{{"POST", inSub + "/providers/Microsoft.KeyVault/unregister", "", 409, "CannotUnregisterNamespace", vault}})
	if got := state("Microsoft.ContainerService"); got != "NotRegistered" {
		t.Errorf("a namespace nobody used: %v", got)
	}
	change("Microsoft.ContainerService", "register", "Registering", "Registered")
}

// Who a role is for is what the assignment says it is.
func TestPrincipalTypes(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.good("PUT", identity, `{"location":"eastus"}`)
	managed := s.good("GET", identity, "").body["properties"].(map[string]any)["principalId"].(string)
	role := inRG + "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-4000-8000-0000000000ee"
	body := func(principal, typ string) string {
		return `{"properties":{"principalId":"` + principal + `","principalType":"` + typ + `","roleDefinitionId":"` + inSub + `/providers/Microsoft.Authorization/roleDefinitions/` + reader + `"}}`
	}
	for _, principal := range []string{managed, s.me()} {
		s.refusals([]refusal{{"PUT", role, body(principal, "User"), 400, "UnmatchedPrincipalType", "has type 'ServicePrincipal' , which is different from specified PrincipalType 'User'."}})
	}
	s.good("PUT", role, body(managed, "ServicePrincipal"))
}
