package azure_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// kindCase is a resource as a client would send it. Those that need others come behind them.
type kindCase struct {
	path, body string
	created    int  // status of the first PUT
	tags       bool // has tags, which PATCH replaces
}

const (
	netRP     = inRG + "/providers/Microsoft.Network/"
	computeRP = inRG + "/providers/Microsoft.Compute/"
	identity  = inRG + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/wid"
	account   = inRG + "/providers/Microsoft.Storage/storageAccounts/acct"
)

var kindCases = []kindCase{
	{netRP + "networkSecurityGroups/nsg", `{"location":"eastus"}`, 201, true},
	{netRP + "networkSecurityGroups/nsg/securityRules/ssh", `{"properties":{"priority":100,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourcePortRange":"*","destinationPortRange":"22","sourceAddressPrefix":"*","destinationAddressPrefix":"*"}}`, 201, false},
	{netRP + "routeTables/rt", `{"location":"eastus"}`, 201, true},
	{netRP + "routeTables/rt/routes/r1", `{"properties":{"addressPrefix":"10.1.0.0/16","nextHopType":"VirtualAppliance","nextHopIpAddress":"10.0.0.9"}}`, 201, false},
	{netRP + "virtualNetworks/vnet", `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`, 201, true},
	{netRP + "virtualNetworks/vnet/subnets/s1", `{"properties":{"addressPrefix":"10.0.0.0/24","networkSecurityGroup":{"id":"` + netRP + `networkSecurityGroups/nsg"},"routeTable":{"id":"` + netRP + `routeTables/rt"}}}`, 201, false},
	{netRP + "publicIPAddresses/pip", `{"zones":["1"],"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`, 201, true},
	{netRP + "natGateways/nat", `{"location":"eastus","sku":{"name":"Standard"}}`, 201, true},
	{netRP + "loadBalancers/lb", `{"location":"eastus","sku":{"name":"Standard"},"properties":{"frontendIPConfigurations":[{"name":"fe","properties":{"publicIPAddress":{"id":"` + netRP + `publicIPAddresses/pip"}}}],"backendAddressPools":[{"name":"pool"}]}}`, 201, true},
	{netRP + "loadBalancers/lb/backendAddressPools/more", `{"properties":{}}`, 201, false},
	{netRP + "networkInterfaces/nic", `{"location":"eastus","properties":{"ipConfigurations":[{"name":"ip","properties":{"subnet":{"id":"` + netRP + `virtualNetworks/vnet/subnets/s1"},"loadBalancerBackendAddressPools":[{"id":"` + netRP + `loadBalancers/lb/backendAddressPools/pool"}]}}]}}`, 201, true},
	{netRP + "dnszones/example.com", `{"location":"global"}`, 201, true},
	{netRP + "dnszones/example.com/A/www", `{"properties":{"TTL":60,"ARecords":[{"ipv4Address":"198.18.16.9"}]}}`, 201, false},
	{netRP + "dnszones/example.com/TXT/www", `{"properties":{"TTL":60,"TXTRecords":[{"value":["heritage=external-dns"]}]}}`, 201, false},
	{netRP + "privateDnsZones/hc.local", `{"location":"global"}`, 201, true},
	{netRP + "privateDnsZones/hc.local/virtualNetworkLinks/link", `{"location":"global","properties":{"registrationEnabled":false,"virtualNetwork":{"id":"` + netRP + `virtualNetworks/vnet"}}}`, 201, true},
	{netRP + "privateDnsZones/hc.local/A/api", `{"properties":{"ttl":60,"aRecords":[{"ipv4Address":"10.0.0.9"}]}}`, 201, false},
	{identity, `{"location":"eastus"}`, 201, true},
	{identity + "/federatedIdentityCredentials/fic", `{"properties":{"issuer":"https://i","subject":"s","audiences":["openshift"]}}`, 201, false},
	{account, `{"location":"eastus","kind":"StorageV2","sku":{"name":"Standard_LRS"},"properties":{}}`, 200, true},
	{account + "/blobServices/default/containers/docs", `{"properties":{"publicAccess":"None"}}`, 201, false},
	{computeRP + "availabilitySets/as", `{"location":"eastus","properties":{"platformFaultDomainCount":2}}`, 200, true},
	{computeRP + "disks/data", `{"location":"eastus","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`, 200, true},
	{computeRP + "snapshots/snap", `{"location":"eastus","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"` + computeRP + `disks/data"}}}`, 200, true},
	{computeRP + "diskEncryptionSets/des", `{"location":"eastus","identity":{"type":"SystemAssigned"},"properties":{}}`, 200, false},
	{computeRP + "images/img", `{"location":"eastus","properties":{"storageProfile":{"osDisk":{"osType":"Linux","osState":"Generalized","blobUri":"https://x"}}}}`, 201, false},
	{computeRP + "virtualMachines/vm1", `{"location":"eastus","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"},"storageProfile":{` + flatcar + `,"osDisk":{"name":"os","createOption":"FromImage"}},"osProfile":{"computerName":"vm1","adminUsername":"core","adminPassword":"hush"},"networkProfile":{"networkInterfaces":[{"id":"` + netRP + `networkInterfaces/nic"}]}}}`, 201, true},
	{computeRP + "virtualMachines/vm1/extensions/boot", `{"location":"eastus","properties":{"publisher":"p","type":"t","typeHandlerVersion":"1.0"}}`, 201, false},
	{inRG + "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-4000-8000-0000000000aa", `{"properties":{"principalId":"00000000-0000-4000-8000-0000000000bb","principalType":"ServicePrincipal","roleDefinitionId":"` + inSub + `/providers/Microsoft.Authorization/roleDefinitions/` + contributor + `"}}`, 201, false},
	{inRG + "/providers/Microsoft.KeyVault/vaults/keeper", `{"location":"eastus","properties":{"tenantId":"` + tenant + `","sku":{"family":"A","name":"standard"}}}`, 201, true},
}

// Every kind that the product or its providers use goes through its whole life over plain HTTP. The status codes are checked against those of
// the SDKs when the sandbox ends.
func TestLifeOfEveryKind(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	for _, k := range kindCases {
		s.createKind(k)
	}
	for _, k := range kindCases {
		s.changeKind(k)
	}
	for query, told := range map[string]bool{"": false, "?$expand=provisioningState": true} {
		for _, item := range s.call("GET", inRG+"/resources"+query, "").body["value"].([]any) {
			item := item.(map[string]any)
			if state, has := item["provisioningState"]; has != told || item["zones"] != nil {
				t.Errorf("list%s: %s has state %v and zones %v", query, item["id"], state, item["zones"])
			}
		}
	}
	for i := len(kindCases) - 1; i >= 0; i-- {
		s.deleteKind(kindCases[i])
	}
	left := s.all(inRG + "/resources")
	if list := left.body["value"].([]any); len(list) != 1 || list[0].(map[string]any)["type"] != "Microsoft.Compute/disks" { // that of the machine, which stays
		t.Errorf("left behind: %s", left.text)
	}
}

func (s *sandbox) createKind(k kindCase) {
	s.t.Helper()
	got := s.call("PUT", k.path, k.body)
	if got.status != k.created {
		s.t.Fatalf("PUT %s: %d %s", k.path, got.status, got.text)
	}
	if got.body["id"] != k.path || got.body["name"] != k.path[strings.LastIndex(k.path, "/")+1:] || got.body["type"] == nil {
		s.t.Errorf("PUT %s: envelope %v %v %v", k.path, got.body["id"], got.body["name"], got.body["type"])
	}
	if strings.Contains(got.text, "hush") {
		s.t.Errorf("PUT %s shows a secret", k.path)
	}
	s.await(k.path, got)
	if again := s.call("PUT", k.path, k.body); again.status != 200 && !(again.status == 201 && strings.Contains(k.path, "Microsoft.Authorization")) {
		s.t.Errorf("PUT %s again: %d %s", k.path, again.status, again.text)
	} else {
		s.await(k.path, again)
	}
	if got := s.call("GET", k.path, ""); got.status != 200 || got.body["id"] != k.path {
		s.t.Errorf("GET %s: %d %s", k.path, got.status, got.text)
	}
	if got := s.call("GET", strings.ToUpper(k.path), ""); got.status != 200 || got.body["id"] != k.path {
		s.t.Errorf("GET %s in upper case: %d %v", k.path, got.status, got.body["id"])
	}
	collection := k.path[:strings.LastIndex(k.path, "/")]
	if got := s.all(collection); got.status != 200 || !strings.Contains(got.text, `"id":"`+k.path+`"`) {
		s.t.Errorf("GET %s does not show it: %d", collection, got.status)
	}
}

// await follows a long-running operation by whichever header it has.
func (s *sandbox) await(path string, got answer) {
	s.t.Helper()
	tok, err := s.user().GetToken(s.t.Context(), managementScope())
	must(s.t, err)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		poll, location := got.header.Get("Azure-AsyncOperation"), got.header.Get("Location")
		if poll == "" && location == "" {
			return
		}
		if poll == "" {
			if got = s.request("GET", location, "", "Authorization", "Bearer "+tok.Token); got.status == http.StatusNoContent || got.status == http.StatusOK {
				return
			}
			continue
		}
		state := s.request("GET", poll, "", "Authorization", "Bearer "+tok.Token)
		switch state.body["status"] {
		case "Succeeded":
			return
		case "InProgress":
			if state.header.Get("Retry-After") == "" {
				s.t.Errorf("%s: no Retry-After while the operation runs", path)
			}
		default:
			s.t.Fatalf("%s: operation %s", path, state.text)
		}
	}
	s.t.Fatalf("%s: the operation does not end", path)
}

func (s *sandbox) changeKind(k kindCase) {
	s.t.Helper()
	if !k.tags {
		return
	}
	for _, tags := range []string{`{"a":"1","b":"2"}`, `{"c":"3"}`} {
		got := s.call("PATCH", k.path, `{"tags":`+tags+`}`)
		if got.status != 200 && got.status != 202 {
			s.t.Errorf("PATCH %s: %d %s", k.path, got.status, got.text)
		}
		s.await(k.path, got)
	}
	got := s.call("GET", k.path, "")
	if fmt.Sprint(got.body["tags"]) != "map[c:3]" {
		s.t.Errorf("%s: tags %v", k.path, got.body["tags"])
	}
}

func (s *sandbox) deleteKind(k kindCase) {
	s.t.Helper()
	got := s.call("DELETE", k.path, "")
	if got.status != 200 && got.status != 202 {
		s.t.Fatalf("DELETE %s: %d %s", k.path, got.status, got.text)
	}
	s.await(k.path, got)
	if got := s.call("GET", k.path, ""); got.status != 404 {
		s.t.Errorf("GET %s after its deletion: %d", k.path, got.status)
	}
	if got := s.call("DELETE", k.path, ""); got.status != 204 {
		s.t.Errorf("DELETE %s again: %d %s", k.path, got.status, got.text)
	}
}

// Two writers of one record set: the one who read an old state is told.
func TestETags(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	zone, record := netRP+"dnsZones/example.com", netRP+"dnsZones/example.com/A/www"
	body := func(ip string) string { return `{"properties":{"TTL":60,"ARecords":[{"ipv4Address":"` + ip + `"}]}}` }
	s.call("PUT", zone, `{"location":"global"}`)
	first := s.call("PUT", record, body("198.18.16.1"), "If-None-Match", "*")
	old, _ := first.body["etag"].(string)
	if first.status != 201 || old == "" {
		t.Fatalf("create: %d %s", first.status, first.text)
	}
	want := func(what string, got answer, status int) {
		t.Helper()
		code := map[int]string{412: "PreconditionFailed"}[status]
		if got.status != status || got.code != code {
			t.Errorf("%s: %d %s, want %d %s", what, got.status, got.text, status, code)
		}
	}
	want("create again", s.call("PUT", record, body("198.18.16.2"), "If-None-Match", "*"), 412)
	want("update what one knows", s.call("PUT", record, body("198.18.16.3"), "If-Match", old), 200)
	want("update what one no longer knows", s.call("PUT", record, body("198.18.16.4"), "If-Match", old), 412)
	want("patch what one no longer knows", s.call("PATCH", record, `{"properties":{"TTL":5}}`, "If-Match", old), 412)
	want("delete what one no longer knows", s.call("DELETE", record, "", "If-Match", old), 412)
	want("update what is not there", s.call("PUT", zone+"/A/other", body("198.18.16.5"), "If-Match", "*"), 412)
	want("delete anything", s.call("DELETE", record, "", "If-Match", "*"), 200)
}

// A list of record sets shows record sets, whatever else lives beneath the zone.
func TestRecordSetsOnly(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	zone := netRP + "dnszones/example.com"
	s.call("PUT", zone, `{"location":"global"}`)
	s.call("PUT", zone+"/A/a.clusters", `{"properties":{"TTL":60}}`)
	s.call("PUT", zone+"/A/b", `{"properties":{"TTL":60}}`)
	must(t, s.assign(zone, contributor, clientID))
	for path, n := range map[string]int{"/recordsets": 4, "/all": 4, "/recordsets?$recordsetnamesuffix=clusters": 1, "/A": 2, "/A?$recordsetnamesuffix=clusters": 1, "/recordsets?$top=3": 4} {
		got := s.all(zone + path)
		if l, _ := got.body["value"].([]any); len(l) != n || strings.Contains(got.text, "roleAssignments") {
			t.Errorf("%s: %s", path, got.text)
		}
	}
	if got := s.call("GET", zone, ""); got.body["properties"].(map[string]any)["numberOfRecordSets"] != 4.0 {
		t.Errorf("zone: %s", got.text)
	}
}
