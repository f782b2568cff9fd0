package names

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/http/httpproxy"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s).Masked() }
func address(s string) netip.Addr  { return netip.MustParseAddr(s) }

// Networks of the sandbox lie in or beside each other; an overlap would send packets elsewhere.
func TestNetworks(t *testing.T) {
	edge := prefix(EdgeIP + EdgePrefix)
	for inner, outer := range map[string]string{edge.String(): AllPrefix, PublicPrefix: AllPrefix, EdgeIP + "/32": edge.String(),
		RouterIP + "/32": edge.String(),
		AllPrefix:        ManagementPrefix, APIServiceIP + "/32": ServiceCIDR, DNSServiceIP + "/32": ServiceCIDR} {
		if i, o := prefix(inner), prefix(outer); !o.Contains(i.Addr()) || i.Bits() < o.Bits() {
			t.Errorf("%s is not in %s", inner, outer)
		}
	}
	apart := []netip.Prefix{edge, prefix(PublicPrefix), prefix("198.18.240.0/20"), prefix("198.19.0.0/16"), prefix(PodCIDR), prefix(ServiceCIDR),
		prefix("10.0.0.0/16"), prefix("172.20.0.0/16"), prefix("10.132.0.0/14")} // with those of tests, uplinks and hosted clusters
	for i, a := range apart {
		for _, b := range apart[i+1:] {
			if a.Overlaps(b) {
				t.Errorf("%s and %s overlap", a, b)
			}
		}
	}
	// Kubernetes gives the first address to its API; Azure keeps the first four of a subnet and the last one.
	if address(APIServiceIP) != prefix(ServiceCIDR).Addr().Next() {
		t.Errorf("the API's Service is %s", APIServiceIP)
	}
	reserved := prefix(ManagementPrefix).Addr()
	for range 4 {
		if reserved == address(EdgeIP) {
			t.Errorf("%s is one of the addresses that Azure keeps in %s", EdgeIP, ManagementPrefix)
		}
		reserved = reserved.Next()
	}
	if EdgeIP == RouterIP || RegistryAddr == OwnRegistryAddr {
		t.Error("two listen at one address")
	}
}

// Names of links are short, and those of the sandbox begin alike: its packet filter knows them by that.
func TestLinks(t *testing.T) {
	for _, link := range []string{EdgeBridge, PodBridge} {
		if len(link) > 15 || !strings.HasPrefix(link, "hs") || strings.HasPrefix(link, "hsu") { // hsu: uplinks of virtual networks
			t.Errorf("link %s", link)
		}
	}
}

// What is inside goes without the proxy, and Azure by it, as programs of Go read the variables.
func TestNoProxy(t *testing.T) {
	config := httpproxy.Config{HTTPSProxy: ProxyURL, HTTPProxy: ProxyURL, NoProxy: NoProxy}
	for target, by := range map[string]string{
		APIURL: "", "https://10.201.0.1": "", "https://10.200.3.4:8443": "", "https://kubernetes.default.svc": "",
		"https://web.ns.svc.cluster.local": "", "https://localhost:1": "",
		"http://" + RegistryAddr: "", "http://169.254.169.254/metadata": "", "http://168.63.129.16": "",
		"https://management.azure.com": ProxyURL, "https://login.microsoftonline.com": ProxyURL, "https://" + OwnRegistryHost: ProxyURL,
		"https://app." + AppsDomain: ProxyURL,
		"https://198.18.16.1:7443":  ProxyURL, "https://10.202.0.1": ProxyURL,
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.ProxyFunc()(u)
		if err != nil || (got == nil) != (by == "") || got != nil && got.String() != by {
			t.Errorf("%s goes by %v, want %q", target, got, by)
		}
	}
}

// The domains lie in each other, since the zone of the inner one is delegated by the outer.
func TestDomains(t *testing.T) {
	if !strings.HasSuffix(ManagementDomain, "."+BaseDomain) || !strings.HasSuffix(AppsDomain, "."+ManagementDomain) {
		t.Error(BaseDomain, ManagementDomain, AppsDomain)
	}
	for _, id := range []string{SubscriptionID, TenantID, ClientID} {
		if parts := strings.Split(id, "-"); len(id) != 36 || len(parts) != 5 || parts[2][0] != '4' {
			t.Errorf("%s is no identifier as Azure has them", id)
		}
	}
}
