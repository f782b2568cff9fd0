package feasibility

import (
	"net/netip"
	"slices"
	"strings"
)

// private are the addresses that are none of the Internet's.
var private = prefixesOf([]string{"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "224.0.0.0/3"})

var everywhere = netip.MustParsePrefix("0.0.0.0/0")

// prefixesOf are the IPv4 prefixes among what a rule or a route names.
func prefixesOf(texts []string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if addr, bad := netip.ParseAddr(text); bad == nil && err != nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		switch {
		case text == "*" || strings.EqualFold(text, "Internet"):
			all = append(all, everywhere)
		case err == nil && prefix.Addr().Is4():
			all = append(all, prefix.Masked())
		}
	}
	return all
}

// covered tells whether prefixes have all public addresses of another one.
func covered(of netip.Prefix, by []netip.Prefix) bool {
	contains := func(p netip.Prefix) bool { return p.Bits() <= of.Bits() && p.Contains(of.Addr()) }
	switch {
	case slices.ContainsFunc(private, contains) || slices.ContainsFunc(by, contains):
		return true
	case !slices.ContainsFunc(by, of.Overlaps):
		return false
	}
	low, high := halves(of)
	return covered(low, by) && covered(high, by)
}

// halves of a prefix that has more than one address.
func halves(of netip.Prefix) (low, high netip.Prefix) {
	bits := of.Bits() + 1
	raw := of.Addr().As4()
	raw[of.Bits()/8] |= 0x80 >> (of.Bits() % 8)
	return netip.PrefixFrom(of.Addr(), bits), netip.PrefixFrom(netip.AddrFrom4(raw), bits)
}

// tagUse is what nodes need of the addresses of a service tag.
type tagUse struct{ tag, use string }

// tagUses are the tags that nodes need at port 443; Azure's names of them differ in no case.
var tagUses = []tagUse{
	{"AzureActiveDirectory", "Entra, which gives pods their tokens"},
	{"AzureResourceManager", "Azure's API, which operators in the cluster call"},
	{"Storage", "the image registry's account and boot diagnostics"},
	{"MicrosoftContainerRegistry", "images"},
	{"AzureContainerRegistry", "images"},
	{"AzureFrontDoor.FirstParty", "images of Microsoft's registry"},
}

// tagAzure is the tag of all of Azure's public addresses.
const tagAzure = "AzureCloud"

// useOf tells what nodes of a region need at a port of the addresses of a service tag: "" for nothing. It is sure where nodes cannot do without.
func useOf(tag, region string, port int) (use string, sure bool) {
	if strings.EqualFold(tag, tagAzure) || len(tag) > len(tagAzure) && strings.EqualFold(tag[:len(tagAzure)+1], tagAzure+".") {
		if port != 443 {
			return "the control plane, where it is in Azure", false
		}
		return "Entra, storage, images, and the control plane, where it is in Azure", strings.EqualFold(tag, tagAzure)
	}
	if port != 443 {
		return "", false
	}
	for _, t := range tagUses {
		if strings.EqualFold(tag, t.tag) || strings.EqualFold(tag, t.tag+"."+region) {
			return t.use, false
		}
	}
	return "", false
}
