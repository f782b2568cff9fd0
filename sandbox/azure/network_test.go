package azure_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/dns/armdns"
	"github.com/miekg/dns"

	azure "github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func TestRestartLosesNothing(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	nic := s.nic("rg", "nic", s.vnet("rg"))
	vm := s.vm("rg", "vm", nic)
	before, err := s.feed().Watch(t.Context(), 0)
	must(t, err)
	token, err := s.user().GetToken(t.Context(), managementScope())
	must(t, err)
	s.restart()
	after, err := s.feed().Watch(t.Context(), before.Revision-1)
	must(t, err)
	if after.Revision < before.Revision || len(after.Machines) != 1 || after.Machines[0].ID != *vm.ID || after.Machines[0].CustomData != before.Machines[0].CustomData {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	req, err := http.NewRequest(http.MethodGet, "https://management.azure.com/subscriptions?api-version=2022-12-01", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+token.Token)
	resp, err := s.http.Do(req)
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("a token from before the restart: %s", resp.Status)
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	s := newSandbox(t)
	s.unmanaged = true
	_, err := azure.Start(t.Context(), s.cfg)
	if err == nil || !strings.Contains(err.Error(), "another embedded Azure") {
		t.Errorf("got %v", err)
	}
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestDNSEdgeAndTunnels(t *testing.T) {
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "registry "+r.Host) }))
	defer backend.Close()
	edge := freeAddress(t)
	s := newSandbox(t, func(c *azure.Config) {
		c.EdgeAddr, c.DNSAddr = edge, "127.0.0.1:0"
		c.TunnelPrefixes = []string{"127.0.0.0/8"}
		c.Forward = map[string]string{"quay.io": backend.Listener.Addr().String()}
		c.Seed = []azure.SeedResource{
			{ID: "/subscriptions/" + subscription + "/resourceGroups/os4-common", Body: map[string]any{"location": location}},
			{ID: "/subscriptions/" + subscription + "/resourceGroups/os4-common/providers/Microsoft.Network/dnszones/hypershift.test", Body: map[string]any{"location": "global"}},
		}
	})
	zones, err := armdns.NewRecordSetsClient(subscription, s.user(), s.armOptions())
	must(t, err)
	put := func(name string, typ armdns.RecordType, p armdns.RecordSetProperties) {
		t.Helper()
		p.TTL = to.Ptr(int64(30))
		_, err := zones.CreateOrUpdate(t.Context(), "os4-common", "hypershift.test", name, typ, armdns.RecordSet{Properties: &p}, nil)
		must(t, err)
	}
	put("*.apps", armdns.RecordTypeA, armdns.RecordSetProperties{ARecords: []*armdns.ARecord{{IPv4Address: to.Ptr("127.0.0.1")}}})
	put("alias", armdns.RecordTypeCNAME, armdns.RecordSetProperties{CnameRecord: &armdns.CnameRecord{Cname: to.Ptr("x.apps.hypershift.test")}})
	put("txt", armdns.RecordTypeTXT, armdns.RecordSetProperties{TxtRecords: []*armdns.TxtRecord{{Value: []*string{to.Ptr("hello")}}}})
	s.group("rg")
	s.balancer("rg", "lb")

	for _, c := range []struct {
		name  string
		qtype uint16
		rcode int
		want  string
	}{
		{"a.b.apps.hypershift.test.", dns.TypeA, dns.RcodeSuccess, "127.0.0.1"},
		{"A.Apps.HYPERSHIFT.test.", dns.TypeA, dns.RcodeSuccess, "127.0.0.1"},
		{"a.apps.hypershift.test.", dns.TypeAAAA, dns.RcodeSuccess, ""},
		{"alias.hypershift.test.", dns.TypeA, dns.RcodeSuccess, "127.0.0.1"},
		{"txt.hypershift.test.", dns.TypeTXT, dns.RcodeSuccess, "hello"},
		{"none.hypershift.test.", dns.TypeA, dns.RcodeNameError, ""},
		{"apps.hypershift.test.", dns.TypeA, dns.RcodeSuccess, ""},
		{"hypershift.test.", dns.TypeNS, dns.RcodeSuccess, "ns1-01.azure-dns.com."},
		{"label.eastus.cloudapp.azure.com.", dns.TypeA, dns.RcodeSuccess, "198.18.16.1"},
		{"any.blob.core.windows.net.", dns.TypeA, dns.RcodeSuccess, "127.0.0.1"},
		{"quay.io.", dns.TypeA, dns.RcodeSuccess, "127.0.0.1"},
		{"example.com.", dns.TypeA, dns.RcodeNameError, ""},
	} {
		for _, network := range []string{"udp", "tcp"} {
			m, _, err := (&dns.Client{Net: network}).Exchange(new(dns.Msg).SetQuestion(c.name, c.qtype), s.server.DNSAddr())
			must(t, err)
			text := ""
			for _, rr := range m.Answer {
				text += rr.String()
			}
			if m.Rcode != c.rcode || c.want == "" != (len(m.Answer) == 0) || !strings.Contains(text, c.want) {
				t.Errorf("%s %s: %s %q, want %q", network, c.name, dns.RcodeToString[m.Rcode], text, c.want)
			}
		}
	}
	s.edgeAndTunnels(edge, backend)
}

// A private zone is for the networks linked to it, from which it hides the public ones; a client that does not say where it is sees it after those.
func TestPrivateZoneIsSeenFromLinkedNetworks(t *testing.T) {
	const network = "/subscriptions/" + subscription + "/resourceGroups/rg/providers/Microsoft.Network/"
	prefix := map[string]any{"location": location, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []string{"10.0.0.0/16"}}}}
	s := newSandbox(t, func(c *azure.Config) {
		c.DNSAddr = "127.0.0.1:0"
		c.Seed = []azure.SeedResource{
			{ID: "/subscriptions/" + subscription + "/resourceGroups/rg", Body: map[string]any{"location": location}},
			{ID: network + "virtualNetworks/linked", Body: prefix},
			{ID: network + "virtualNetworks/lonely", Body: prefix},
			{ID: network + "privateDnsZones/hc.local", Body: map[string]any{"location": "global"}},
			{ID: network + "privateDnsZones/hc.local/A/api", Body: map[string]any{"properties": map[string]any{"ttl": 5, "aRecords": []any{map[string]any{"ipv4Address": "10.0.0.9"}}}}},
			{ID: network + "dnsZones/api.hc.local", Body: map[string]any{"location": "global"}},
			{ID: network + "dnsZones/api.hc.local/A/@", Body: map[string]any{"properties": map[string]any{"TTL": 5, "ARecords": []any{map[string]any{"ipv4Address": "203.0.113.9"}}}}},
			{ID: network + "privateDnsZones/hc.local/virtualNetworkLinks/l", Body: map[string]any{"properties": map[string]any{"virtualNetwork": map[string]any{"id": network + "virtualNetworks/linked"}}}},
		}
	})
	s.unmanaged = true
	for vnet, want := range map[string]string{network + "virtualNetworks/LINKED": "10.0.0.9", network + "virtualNetworks/lonely": "203.0.113.9", "": "203.0.113.9"} {
		q := new(dns.Msg).SetQuestion("api.hc.local.", dns.TypeA)
		if vnet != "" {
			q.SetEdns0(1232, false)
			q.IsEdns0().Option = append(q.IsEdns0().Option, &dns.EDNS0_LOCAL{Code: feed.DNSOptionVNet, Data: []byte(vnet)})
		}
		m, _, err := new(dns.Client).Exchange(q, s.server.DNSAddr())
		must(t, err)
		if len(m.Answer) != 1 || !strings.HasSuffix(m.Answer[0].String(), want) {
			t.Errorf("from %q: %v", vnet, m.Answer)
		}
	}
}

func (s *sandbox) edgeAndTunnels(edge string, backend *httptest.Server) {
	t := s.t
	t.Helper()
	pool := s.pool.Clone()
	pool.AddCert(backend.Certificate())
	direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: ""}, Dial: func(string, string) (net.Conn, error) { return net.Dial("tcp", edge) }}}
	resp, err := direct.Get("https://management.azure.com/metadata/endpoints?api-version=2022-09-01")
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("edge: %s", resp.Status)
	}
	// The forwarded host keeps its own certificate: the connection is not looked into.
	conn, err := tls.Dial("tcp", edge, &tls.Config{ServerName: "quay.io", InsecureSkipVerify: true})
	must(t, err)
	if !conn.ConnectionState().PeerCertificates[0].Equal(backend.Certificate()) {
		t.Error("quay.io was not passed through")
	}
	conn.Close()
	if _, err := tls.Dial("tcp", edge, &tls.Config{ServerName: "example.com", InsecureSkipVerify: true}); err == nil {
		t.Error("the edge serves any name")
	}
	_, port, _ := net.SplitHostPort(backend.Listener.Addr().String())
	for target, want := range map[string]string{
		"console.apps.hypershift.test:" + port: "200", "127.0.0.1:" + port: "200", "quay.io:443": "200", "example.com:443": "403", "8.8.8.8:443": "403",
	} {
		c, err := net.Dial("tcp", s.server.ProxyAddr())
		must(t, err)
		_, err = io.WriteString(c, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
		must(t, err)
		buf := make([]byte, 12)
		_, err = io.ReadFull(c, buf)
		must(t, err)
		if !strings.HasSuffix(string(buf), want) {
			t.Errorf("CONNECT %s: %s, want %s", target, buf, want)
		}
		c.Close()
	}
}
