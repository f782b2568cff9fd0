package compute

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Size of a virtual machine.
type Size struct {
	VCPUs, MemoryMiB int

	name string
	*family
}

// family is a row of https://learn.microsoft.com/azure/virtual-machines/sizes/overview: its sizes differ only in what grows with the vCPUs.
type family struct {
	pattern, quota  string // %d is the number of vCPUs; the name of the cores' quota
	gibPerVCPU      float64
	vcpus           []int
	arm64           bool
	generations     string // of the hypervisor: V1, V2 or both
	standardDisks   bool   // takes no premium disks
	plainNetwork    bool   // without accelerated networking
	cacheGiBPerVCPU int    // for an ephemeral OS disk, 0 for none
	tempGiBPerVCPU  int    // the resource disk
	absent          []string
}

const bothGenerations = "V1,V2"

var families = []family{
	{pattern: "Standard_D%ds_v3", quota: "standardDSv3Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, generations: bothGenerations, cacheGiBPerVCPU: 25, tempGiBPerVCPU: 8},
	{pattern: "Standard_D%ds_v4", quota: "standardDSv4Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, generations: bothGenerations},
	{pattern: "Standard_D%ds_v5", quota: "standardDSv5Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, generations: bothGenerations},
	{pattern: "Standard_D%dds_v5", quota: "standardDDSv5Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, generations: bothGenerations, cacheGiBPerVCPU: 25, tempGiBPerVCPU: 37},
	{pattern: "Standard_D%das_v4", quota: "standardDASv4Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, generations: bothGenerations, cacheGiBPerVCPU: 25, tempGiBPerVCPU: 8},
	{pattern: "Standard_D%das_v5", quota: "standardDASv5Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, generations: bothGenerations},
	{pattern: "Standard_D%dps_v5", quota: "standardDPSv5Family", gibPerVCPU: 4, vcpus: []int{2, 4, 8, 16, 32}, arm64: true, generations: "V2", absent: []string{"westus", "northcentralus"}},
	{pattern: "Standard_E%ds_v3", quota: "standardESv3Family", gibPerVCPU: 8, vcpus: []int{2, 4, 8, 16}, generations: bothGenerations, cacheGiBPerVCPU: 25, tempGiBPerVCPU: 16},
	{pattern: "Standard_E%ds_v5", quota: "standardESv5Family", gibPerVCPU: 8, vcpus: []int{2, 4, 8, 16}, generations: bothGenerations},
	{pattern: "Standard_F%ds_v2", quota: "standardFSv2Family", gibPerVCPU: 2, vcpus: []int{2, 4, 8, 16}, generations: bothGenerations, cacheGiBPerVCPU: 16, tempGiBPerVCPU: 8},
	{pattern: "Standard_B%dms", quota: "standardBSFamily", gibPerVCPU: 4, vcpus: []int{2, 4, 8}, generations: bothGenerations, plainNetwork: true, cacheGiBPerVCPU: 15, tempGiBPerVCPU: 8},
	{pattern: "Standard_B%ds", quota: "standardBSFamily", gibPerVCPU: 2, vcpus: []int{2}, generations: bothGenerations, plainNetwork: true, cacheGiBPerVCPU: 15, tempGiBPerVCPU: 4},
	{pattern: "Standard_A%d_v2", quota: "standardAv2Family", gibPerVCPU: 2, vcpus: []int{2, 4, 8}, generations: "V1", standardDisks: true, plainNetwork: true, tempGiBPerVCPU: 10},
}

var sizes = sync.OnceValue(func() map[string]Size {
	out := map[string]Size{}
	for i := range families {
		f := &families[i]
		for _, n := range f.vcpus {
			s := Size{name: fmt.Sprintf(f.pattern, n), family: f, VCPUs: n, MemoryMiB: int(f.gibPerVCPU * float64(n) * 1024)}
			out[strings.ToLower(s.name)] = s
		}
	}
	return out
})

// maxDataDisks is how many data disks a size takes.
func (s Size) maxDataDisks() int { return min(2*s.VCPUs, 32) }

// maxNICs is how many network interfaces a size takes.
func (s Size) maxNICs() int { return min(max(s.VCPUs/2, 2), 8) }

// SizeOf finds a size by its name, whatever its case.
func SizeOf(name string) (Size, bool) {
	s, ok := sizes()[strings.ToLower(name)]
	return s, ok
}

// orderedSizes keeps the order of the families.
func orderedSizes() []Size {
	var out []Size
	for _, f := range families {
		for _, n := range f.vcpus {
			s, _ := SizeOf(fmt.Sprintf(f.pattern, n))
			out = append(out, s)
		}
	}
	return out
}

// skus is what Cluster API Provider Azure reads to learn of sizes, zones and fault domains.
func skus(c *provider.Call) (*provider.Reply, error) {
	at := c.Location
	for _, cond := range provider.Conditions(c.Req.URL.Query().Get("$filter")) {
		if cond.Key == "location" {
			at = strings.ToLower(strings.ReplaceAll(cond.Value, " ", ""))
		}
	}
	out := []any{}
	for _, s := range orderedSizes() {
		out = append(out, s.sku(at))
	}
	for _, name := range []string{"Aligned", "Classic"} {
		out = append(out, wire.Doc{"resourceType": "availabilitySets", "name": name, "locations": []any{at}, "locationInfo": []any{wire.Doc{"location": at, "zones": []any{}}},
			"capabilities": capabilities("MaximumPlatformFaultDomainCount", "3"), "restrictions": []any{}})
	}
	for _, name := range []string{"Standard_LRS", "StandardSSD_LRS", "Premium_LRS", "UltraSSD_LRS"} {
		out = append(out, wire.Doc{"resourceType": "disks", "name": name, "locations": []any{at}, "locationInfo": []any{wire.Doc{"location": at, "zones": []any{"1", "2", "3"}}},
			"capabilities": []any{}, "restrictions": []any{}})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

func capabilities(pairs ...string) []any {
	var out []any
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, wire.Doc{"name": pairs[i], "value": pairs[i+1]})
	}
	return out
}

func (s Size) sku(at string) wire.Doc {
	restrictions := []any{}
	if slices.Contains(s.absent, at) {
		restrictions = append(restrictions, wire.Doc{"type": "Location", "values": []any{at}, "reasonCode": "NotAvailableForSubscription", "restrictionInfo": wire.Doc{"locations": []any{at}}})
	}
	return wire.Doc{"resourceType": "virtualMachines", "name": s.name, "tier": "Standard", "size": strings.TrimPrefix(s.name, "Standard_"), "family": s.quota,
		"locations": []any{at}, "restrictions": restrictions,
		"locationInfo": []any{wire.Doc{"location": at, "zones": []any{"1", "2", "3"}, "zoneDetails": []any{}}},
		"capabilities": capabilities("vCPUs", strconv.Itoa(s.VCPUs), "vCPUsAvailable", strconv.Itoa(s.VCPUs), "MemoryGB", strconv.FormatFloat(float64(s.MemoryMiB)/1024, 'g', -1, 64),
			"CpuArchitectureType", architecture(s.arm64), "HyperVGenerations", s.generations, "PremiumIO", truth(!s.standardDisks), "AcceleratedNetworkingEnabled", truth(!s.plainNetwork),
			"EphemeralOSDiskSupported", truth(s.cacheGiBPerVCPU > 0), "EncryptionAtHostSupported", truth(!s.standardDisks), "MaxDataDiskCount", strconv.Itoa(s.maxDataDisks()),
			"OSVhdSizeMB", "1047552", "MaxResourceVolumeMB", strconv.Itoa(s.VCPUs*s.tempGiBPerVCPU*1024), "CachedDiskBytes", strconv.Itoa(s.VCPUs*s.cacheGiBPerVCPU<<30),
			"MaxNetworkInterfaces", strconv.Itoa(s.maxNICs()), "LowPriorityCapable", "True")}
}

// truth is how a capability says yes or no.
func truth(is bool) string {
	if is {
		return "True"
	}
	return "False"
}

func vmSizes(c *provider.Call) (*provider.Reply, error) {
	var out []any
	for _, s := range orderedSizes() {
		out = append(out, wire.Doc{"name": s.name, "numberOfCores": s.VCPUs, "memoryInMB": s.MemoryMiB, "osDiskSizeInMB": 1047552,
			"resourceDiskSizeInMB": s.VCPUs * s.tempGiBPerVCPU * 1024, "maxDataDiskCount": s.maxDataDisks()})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// VMSize is the name of the size of a virtual machine.
func VMSize(r *provider.Resource) string {
	return wire.Text(wire.Sub(wire.Props(r.Body), "hardwareProfile"), "vmSize")
}
