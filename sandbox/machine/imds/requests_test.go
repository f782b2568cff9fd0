package imds

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

var machines = map[string]feed.Machine{
	"10.0.0.4": {Name: "one", Zone: "1", NICs: []feed.NIC{{PrivateIP: "10.0.0.4", MAC: "00-0d-3a-00-00-04"},
		{PrivateIP: "10.0.1.4", MAC: "00:0d:3a:00:00:05"}}},
	"10.0.0.5": {Name: "two", Zone: "3", Tags: map[string]string{"k8s.io_role": "a:b;c", "empty": ""}},
	"10.0.0.6": {Name: "three"},
}

// ask is a request of a machine, with headers as "Name: value".
func ask(t *testing.T, source, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	handler := Handler(func(address string) (feed.Machine, feed.Subnet, bool) {
		m, ok := machines[address]
		return m, feed.Subnet{Prefix: "10.0.0.64/26"}, ok
	})
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.RemoteAddr = source + ":40000"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

const latest = "?api-version=2021-02-01"

// What a pod or a page could have a machine fetch is refused: the header that it cannot set has to be there, and none of a proxy.
func TestWhoIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		source, target string
		headers        []string
		code           int
	}{
		"as documented":          {"10.0.0.4", "/metadata/instance" + latest, []string{"Metadata: true"}, 200},
		"in other letters":       {"10.0.0.4", "/Metadata/Instance/" + latest, []string{"metadata: True"}, 200},
		"without the header":     {"10.0.0.4", "/metadata/instance" + latest, nil, 400},
		"with another value":     {"10.0.0.4", "/metadata/instance" + latest, []string{"Metadata: yes"}, 400},
		"by way of a proxy":      {"10.0.0.4", "/metadata/instance" + latest, []string{"Metadata: true", "X-Forwarded-For: 10.0.0.4"}, 400},
		"versions by a proxy":    {"10.0.0.4", "/metadata/versions", []string{"Metadata: true", "X-Forwarded-For: 10.0.0.4"}, 400},
		"versions of no machine": {"10.0.0.9", "/metadata/versions", []string{"Metadata: true"}, 200},
		"of no machine":          {"10.0.0.9", "/metadata/instance" + latest, []string{"Metadata: true"}, 404},
		"an empty version":       {"10.0.0.4", "/metadata/instance?api-version=", []string{"Metadata: true"}, 400},
		"another document":       {"10.0.0.4", "/metadata/instances" + latest, []string{"Metadata: true"}, 404},
		"attested":               {"10.0.0.4", "/metadata/attested/document" + latest, []string{"Metadata: true"}, 404},
		"no identity is there":   {"10.0.0.4", "/metadata/identity/oauth2/token" + latest, []string{"Metadata: true"}, 400},
	} {
		w := ask(t, c.source, c.target, c.headers...)
		if w.Code != c.code || !strings.HasPrefix(w.Header().Get("Server"), "IMDS/") {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.code)
		}
		var said struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || (said.Error != "") != (c.code != 200) {
			t.Errorf("%s: %q, %v", name, w.Body, err)
		}
	}
}

// Each machine is told what it is, and none what another is. Leaves are texts, and what has parts is JSON.
func TestLeaves(t *testing.T) {
	for target, want := range map[string]string{
		"10.0.0.4 compute/name": "one", "10.0.0.5 compute/name": "two", "10.0.0.4 COMPUTE/Name": "one",
		"10.0.0.4 compute/zone": "1", "10.0.0.4 compute/platformFaultDomain": "1", "10.0.0.5 compute/platformFaultDomain": "0",
		"10.0.0.6 compute/zone": "", "10.0.0.6 compute/platformFaultDomain": "0",
		"10.0.0.5 compute/tags": "empty:;k8s.io_role:a:b;c", "10.0.0.5 compute/tagsList/1/value": "a:b;c", "10.0.0.6 compute/tags": "",
		"10.0.0.4 network/interface/0/macAddress": "000D3A000004", "10.0.0.4 network/interface/1/macAddress": "000D3A000005",
		"10.0.0.4 network/interface/1/ipv4/ipAddress/0/privateIpAddress": "10.0.1.4",
		"10.0.0.4 network/interface/0/ipv4/subnet/0/address":             "10.0.0.64", "10.0.0.4 network/interface/0/ipv4/subnet/0/prefix": "26",
		"10.0.0.4 compute/azEnvironment": "AzurePublicCloud", "10.0.0.4 compute/osType": "Linux",
	} {
		source, path, _ := strings.Cut(target, " ")
		w := ask(t, source, "/metadata/instance/"+path+latest+"&format=text", "Metadata: true")
		if w.Code != http.StatusOK || w.Body.String() != want || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %q, want %q", target, w.Code, w.Body, want)
		}
	}
	for _, path := range []string{"compute/none", "network/interface/2", "network/interface/-1", "network/interface/x", "compute/name/more", "none"} {
		if w := ask(t, "10.0.0.4", "/metadata/instance/"+path+latest+"&format=text", "Metadata: true"); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for path, part := range map[string]string{"compute": `"name":"two"`, "compute/tagsList": `{"name":"empty","value":""}`, "network": `"interface"`,
		"": `"compute":{`} {
		w := ask(t, "10.0.0.5", "/metadata/instance/"+path+latest, "Metadata: true")
		if w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), part) ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%q: %d %s, want %s", path, w.Code, w.Body, part)
		}
	}
}

// Agents that look for events to come find none, and a document that they can read.
func TestNoEvents(t *testing.T) {
	var got struct {
		DocumentIncarnation *int
		Events              []any
	}
	w := ask(t, "10.0.0.4", "/metadata/scheduledevents?api-version=2020-07-01", "Metadata: true")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.DocumentIncarnation == nil || got.Events == nil || len(got.Events) != 0 {
		t.Errorf("%s, %v", w.Body, err)
	}
}
