package imds

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func TestMetadata(t *testing.T) {
	m := feed.Machine{
		ID: "/subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/w-1", Name: "w-1", ComputerName: "w-1", ResourceGroup: "RG", SubscriptionID: "s",
		Location: "eastus", Zone: "2", Size: "Standard_D4s_v5", VMID: "id", Tags: map[string]string{"b": "2", "a": "1"},
		NICs: []feed.NIC{{PrivateIP: "10.0.0.4", MAC: "00:0d:3a:00:00:04"}},
	}
	handler := Handler(func(a string) (feed.Machine, feed.Subnet, bool) {
		return m, feed.Subnet{Prefix: "10.0.0.0/24"}, a == "10.0.0.4"
	})
	get := func(path, source string, header bool) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = source + ":1"
		if header {
			r.Header.Set("Metadata", "true")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		path, source string
		header       bool
		code         int
		body         string
	}{
		{"/metadata/instance?api-version=2021-02-01", "10.0.0.4", false, 400, ""},
		{"/metadata/instance", "10.0.0.4", true, 400, ""},
		{"/metadata/instance?api-version=2021-02-01", "10.0.0.9", true, 404, ""},
		{"/metadata/loadbalancer?api-version=2021-02-01", "10.0.0.4", true, 404, ""},
		{"/metadata/instance/compute/zone?api-version=2021-02-01&format=text", "10.0.0.4", true, 200, "2"},
		{"/metadata/instance/compute/tags?api-version=2021-02-01&format=text", "10.0.0.4", true, 200, "a:1;b:2"},
		{"/metadata/instance/network/interface/0/macAddress?api-version=2021-02-01&format=text", "10.0.0.4", true, 200, "000D3A000004"},
		{"/metadata/instance/compute/nothing?api-version=2021-02-01&format=text", "10.0.0.4", true, 404, ""},
		{"/metadata/instance/compute/zone?api-version=2021-02-01", "10.0.0.4", true, 400, ""},
		{"/metadata/identity/oauth2/token?api-version=2018-02-01", "10.0.0.4", true, 400, ""},
	} {
		w := get(c.path, c.source, c.header)
		if w.Code != c.code || (c.body != "" && w.Body.String() != c.body) {
			t.Errorf("%s from %s: %d %s", c.path, c.source, w.Code, w.Body)
		}
	}
	var doc struct {
		Compute struct{ ResourceID, SubscriptionID, ResourceGroupName, VMSize, Location string }
		Network struct {
			Interface []struct {
				IPv4 struct {
					IPAddress []struct{ PrivateIPAddress string }
					Subnet    []struct{ Address, Prefix string }
				}
			}
		}
	}
	if err := json.Unmarshal(get("/metadata/instance?api-version=2021-02-01", "10.0.0.4", true).Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	nic := doc.Network.Interface[0].IPv4
	if doc.Compute.ResourceID != m.ID || doc.Compute.VMSize != m.Size || nic.IPAddress[0].PrivateIPAddress != "10.0.0.4" || nic.Subnet[0].Prefix != "24" {
		t.Errorf("%+v", doc)
	}
}
