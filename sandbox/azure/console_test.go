package azure_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// Boot diagnostics answer an address that opens the console of one machine, to read, for some time.
func TestBootDiagnostics(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	vnet := s.vnet("rg")
	made := func(name, profile string) string {
		t.Helper()
		id := computeRP + "virtualMachines/" + name
		body := machine{}.body(*s.nic("rg", "nic-"+name, vnet).ID)
		body = strings.Replace(body, `"properties":{`, `"properties":{"diagnosticsProfile":{"bootDiagnostics":{`+profile+`}},`, 1)
		s.good("PUT", id, strings.Replace(body, `"osDisk":{"name":"os"`, `"osDisk":{"name":"`+name+`"`, 1))
		return id
	}
	vm, off := made("vm1", `"enabled":true`), made("off", `"enabled":false`)
	s.refusals([]refusal{
		{"POST", vm + "/retrieveBootDiagnosticsData", "", 409, "ResourceNotReady", "no hypervisor has named its console"},
		{"POST", off + "/retrieveBootDiagnosticsData", "", 409, "OperationNotAllowed", "Boot diagnostics is not enabled for VM 'off'."},
		{"PUT", computeRP + "virtualMachines/own", strings.Replace(machine{}.body(*s.nic("rg", "nic-own", vnet).ID), `"properties":{`, `"properties":{"diagnosticsProfile":{"bootDiagnostics":{"enabled":true,"storageUri":"https://acct.blob.core.windows.net/"}},`, 1),
			501, "NotServedBySandbox", "storageUri"},
	})
	console := filepath.Join(t.TempDir(), "boot.log")
	must(t, os.WriteFile(console, []byte("ignition finished"), 0o600))
	must(t, s.feed().Report(t.Context(), feed.Status{ID: vm, PowerState: feed.PowerRunning, Console: console}))
	must(t, s.feed().Report(t.Context(), feed.Status{ID: vm, PowerState: feed.PowerStopped}))
	read := func(query string) string {
		t.Helper()
		var got struct {
			SerialConsoleLogBlobURI string `json:"serialConsoleLogBlobUri"`
		}
		must(t, json.Unmarshal([]byte(s.good("POST", vm+"/retrieveBootDiagnosticsData"+query, "").text), &got))
		return got.SerialConsoleLogBlobURI
	}
	address := read("")
	if got := s.request("GET", address, ""); got.status != 200 || got.text != "ignition finished" {
		t.Errorf("%s: %d %s", address, got.status, got.text)
	}
	s.restart()
	if got := s.request("HEAD", address, ""); got.status != 200 {
		t.Errorf("after a restart the address is worth nothing: %d", got.status)
	}
	u, err := url.Parse(address)
	must(t, err)
	with := func(change func(url.Values)) string {
		other, q := *u, u.Query()
		change(q)
		other.RawQuery = q.Encode()
		return other.String()
	}
	for name, c := range map[string]struct{ method, address, code string }{
		"to write":        {"PUT", address, "AuthorizationPermissionMismatch"},
		"longer":          {"GET", with(func(q url.Values) { q.Set("se", time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339)) }), "AuthenticationFailed"},
		"unsigned":        {"GET", with(func(q url.Values) { q.Del("sig") }), "ResourceNotFound"},
		"another machine": {"GET", strings.Replace(address, "/vm1.", "/off.", 1), "AuthenticationFailed"},
		"another account": {"GET", strings.Replace(address, "md-consoles", "md-others", 1), "ResourceNotFound"},
	} {
		if got := s.request(c.method, c.address, ""); got.status < 400 || !strings.Contains(got.text, c.code) {
			t.Errorf("%s: %d %s, want %s", name, got.status, got.text, c.code)
		}
	}
	expiry, err := time.Parse(time.RFC3339, mustQuery(t, read("?sasUriExpirationTimeInMinutes=5")).Get("se"))
	must(t, err)
	if left := time.Until(expiry); left < 4*time.Minute || left > 5*time.Minute {
		t.Errorf("good for %s, want 5 minutes", left)
	}
	s.refusals([]refusal{{"POST", vm + "/retrieveBootDiagnosticsData?sasUriExpirationTimeInMinutes=1441", "", 400, invalidParameter, "1440"}})
	must(t, os.Remove(console))
	if got := s.request("GET", address, ""); got.status != 404 || !strings.Contains(got.text, "BlobNotFound") {
		t.Errorf("without a console: %d %s", got.status, got.text)
	}
}

func mustQuery(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Query()
}
