package feasibility

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/verify"
)

// What fails keeps the cluster from being made, each with its remedy; what warns is told and no more.
func TestRefused(t *testing.T) {
	checks := []preflight.Check{{Name: "a", Status: preflight.Pass, Detail: "well"}, {Name: "b", Status: preflight.Warn, Detail: "odd", Remedy: "look"}, {Name: "c", Status: preflight.Skip, Detail: "unknown"}}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := Refused(checks, say, "hint"); err != nil || !slices.Equal(said, []string{"warning: b: odd; look"}) {
		t.Errorf("%v, said %q", err, said)
	}
	checks = append(checks, preflight.Check{Name: "d", Status: preflight.Fail, Detail: "bad", Remedy: "mend"}, preflight.Check{Name: "e", Status: preflight.Fail, Detail: "worse", Remedy: "mend more"})
	err := Refused(checks, say, "hint")
	if err == nil || err.Error() != "d: bad; mend\ne: worse; mend more\nnothing is made; hint" {
		t.Errorf("%v", err)
	}
}

// A pool asks for what its machines need together: an upgrade makes one more of each pool, and a number below zero makes none.
func TestWhatAPoolAsksFor(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pool  manifest.NodePool
		pools int
		zones []string
		want  Machines
	}{
		{"defaults", manifest.NodePool{Arch: "amd64", Replicas: 2}, 1, nil, Machines{Size: "Standard_D4s_v5", Arch: "amd64", Count: 2, Pools: 1, Generation: "V2"}},
		{"three zones", manifest.NodePool{Arch: "arm64", Replicas: 2, DiskStorageType: "Premium_LRS"}, 3, []string{"1", "2", "3"},
			Machines{Size: "Standard_D4ps_v5", Arch: "arm64", Zones: []string{"1", "2", "3"}, Count: 6, Pools: 3, Generation: "V2", PremiumDisks: true}},
		{"its own zone", manifest.NodePool{InstanceType: "Standard_E8", AvailabilityZone: "2", Replicas: 1, SubnetID: "s"}, 1, nil,
			Machines{Size: "Standard_E8", Zones: []string{"2"}, Subnet: "s", Count: 1, Pools: 1, Generation: "V2"}},
		{"none", manifest.NodePool{Arch: "amd64", Replicas: -1, Image: manifest.Image{Generation: "Gen1"}}, 1, nil, Machines{Size: "Standard_D4s_v5", Arch: "amd64", Pools: 1, Generation: "V1"}},
		{"disks", manifest.NodePool{Arch: "amd64", DiskStorageType: "Standard_LRS", EphemeralDisk: true, EncryptionAtHost: "Enabled"}, 1, nil,
			Machines{Size: "Standard_D4s_v5", Arch: "amd64", Pools: 1, Generation: "V2", EphemeralDisk: true, EncryptionAtHost: true}},
	} {
		if got := OfPool(tc.pool, tc.pools, tc.zones); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	named := manifest.NodePool{Image: manifest.Image{Publisher: "p", Offer: "o", SKU: "s", Version: "1", Plan: true}}
	if got := ImageOf(named, nil); got != (Image{"p", "o", "s", "1", true}) {
		t.Errorf("%+v", got)
	}
	if got := ImageOf(manifest.NodePool{Image: manifest.Image{ID: "/subscriptions/s"}}, nil); got != (Image{}) {
		t.Errorf("an image by its id is of the marketplace: %+v", got)
	}
}

// Ports of rules are single, ranges, lists or all; anything else is about no port.
func TestPortsOfRules(t *testing.T) {
	for ranges, want := range map[string]bool{"443": true, "*": true, "400-500": true, "443-443": true, "1-442": false, "444-65535": false, "80,443": true, "80": false, "": false, "a-b": false, "443-": false, "500-400": false} {
		if got := hasPort(strings.Split(ranges, ","), 443); got != want {
			t.Errorf("%q: %v", ranges, got)
		}
	}
	r := securityRule{}
	r.Properties.Direction, r.Properties.Protocol, r.Properties.DestinationPortRanges = "outbound", "TCP", []string{"443"}
	for change, want := range map[string]bool{"": true, "udp": false, "inbound": false, "*": true} {
		c := r
		switch change {
		case "udp", "*":
			c.Properties.Protocol = change
		case "inbound":
			c.Properties.Direction = change
		}
		if got := c.concerns("Outbound", 443); got != want {
			t.Errorf("%q: %v", change, got)
		}
	}
	r.Properties.DestinationAddressPrefix, r.Properties.DestinationAddressPrefixes, r.Properties.SourceAddressPrefix = "a", []string{"b"}, "c"
	if got := r.far(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("outbound: %q", got)
	}
	if r.Properties.Direction = "Inbound"; !slices.Equal(r.far(), []string{"c"}) {
		t.Errorf("inbound: %q", r.far())
	}
}

// A prefix is covered by what has all of its public addresses, in one piece or in several; private ones count for nothing.
func TestCovered(t *testing.T) {
	for _, tc := range []struct {
		of   string
		by   []string
		want bool
	}{
		{"0.0.0.0/0", []string{"Internet"}, true}, {"0.0.0.0/0", []string{"*"}, true}, {"0.0.0.0/0", nil, false}, {"10.1.0.0/16", nil, true},
		{"0.0.0.0/0", []string{"0.0.0.0/1", "128.0.0.0/1"}, true}, {"0.0.0.0/0", []string{"0.0.0.0/1"}, false}, {"20.0.0.0/8", []string{"20.0.0.0/9", "20.128.0.0/9"}, true},
		{"20.0.0.0/8", []string{"20.0.0.0/9", "20.128.0.0/10"}, false}, {"20.1.2.3/32", []string{"20.1.2.3"}, true}, {"20.1.2.3/32", []string{"20.1.2.4"}, false},
		{"20.0.0.0/8", []string{"Storage"}, false}, {"20.0.0.0/8", []string{"::/0"}, false},
	} {
		if got := covered(netip.MustParsePrefix(tc.of), prefixesOf(tc.by)); got != tc.want {
			t.Errorf("%s by %v: %v", tc.of, tc.by, got)
		}
	}
}

// A service tag counts for what machines need of it, in their region and everywhere, and for no other region.
func TestUseOfTags(t *testing.T) {
	for _, tc := range []struct {
		tag       string
		port      int
		use, sure bool
	}{
		{"AzureActiveDirectory", 443, true, false}, {"azureactivedirectory", 443, true, false}, {"AzureCloud", 443, true, true}, {"AzureCloud.westus", 443, true, false}, {"AzureCloud", 6443, true, false},
		{"Storage", 443, true, false}, {"Storage.EastUS", 443, true, false}, {"Storage.westus", 443, false, false}, {"Storage", 6443, false, false}, {"AzureCloudier", 443, false, false}, {"Sql", 443, false, false},
	} {
		if use, sure := useOf(tc.tag, "eastus", tc.port); (use != "") != tc.use || sure != tc.sure {
			t.Errorf("%s at %d: %q, sure %v", tc.tag, tc.port, use, sure)
		}
	}
}

// A zone hides the cluster's names however it is spelled: names of DNS have no case. One that only ends alike hides nothing.
func TestZonesThatHideNames(t *testing.T) {
	e := &examination{Options: Options{Infra: infra.Options{Name: "demo", BaseDomain: "example.com"}, ExternalDNSDomain: "clusters.example.org"}}
	for zone, want := range map[string]bool{"demo.example.com": true, "Demo.Example.COM": true, "example.com": false, "apps.demo.example.com": false, "clusters.example.org": true, "Example.org": true,
		"ample.org": false, "x.clusters.example.org": false} {
		if got := e.hides(zone); got != want {
			t.Errorf("%s: %v", zone, got)
		}
	}
	e.ExternalDNSDomain = ""
	if e.hides("org") || e.hides("") {
		t.Error("without a domain of endpoints anything hides it")
	}
}

// The ports that have to be open are those of the endpoints as they are published.
func TestOutboundPorts(t *testing.T) {
	e := &examination{}
	if got := portsOf(e.outbound()); !strings.Contains(got, "443") || strings.Count(got, ",") != 2 {
		t.Errorf("by load balancer: %s", got)
	}
	e.ExternalDNSDomain = "clusters.example.org"
	if got := portsOf(e.outbound()); got != "443" {
		t.Errorf("by route: %s", got)
	}
}

// A check of verify keeps its outcome and its field; one that passes by itself is a warning, and no reason to make nothing.
func TestChecksOfVerify(t *testing.T) {
	for status, want := range map[string]preflight.Status{verify.Pass: preflight.Pass, verify.Fail: preflight.Fail, verify.Skip: preflight.Skip} {
		got := ofVerify(verify.Check{Area: "token", Name: "a", Status: status, Detail: "d", Field: "sub: found 'b'", Remedy: "r"})
		if got.Status != want || got.Name != "token a" || got.Detail != "d; check sub: found 'b'" || got.Remedy != "r" {
			t.Errorf("%s: %+v", status, got)
		}
	}
	if got := placeOf("/subscriptions/s"); got != "the subscription" {
		t.Error(got)
	}
	if got := placeOf("/subscriptions/s/resourceGroups/demo"); got != "resource group demo" {
		t.Error(got)
	}
}

// Routes that drop what machines need are told by name, and one for another service is none of them.
func TestRoutesOfServiceTags(t *testing.T) {
	e := &examination{Options: Options{Infra: infra.Options{Location: "eastus"}}}
	made := func(name, prefix, hop string) route {
		r := route{Name: name}
		r.Properties.AddressPrefix, r.Properties.NextHopType = prefix, hop
		return r
	}
	lost := e.lostTags([]route{made("a", "AzureActiveDirectory", nowhere), made("b", "Storage.westus", nowhere), made("c", "Storage", "Internet"), made("d", "AzureCloud", nowhere)})
	if told(lost) != "routes a, d lead" || prefixesTold(lost) != "AzureActiveDirectory, AzureCloud" {
		t.Errorf("%s %s", told(lost), prefixesTold(lost))
	}
	if told(lost[:1]) != "route a leads" || made("x", "y", "VirtualAppliance").to() != "VirtualAppliance" {
		t.Error(told(lost[:1]))
	}
}
