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

	name, family string
	arm64        bool
	absent       []string // regions without it
}

// families of sizes, by name pattern: %d is the number of vCPUs.
var families = []struct {
	pattern, family string
	gibPerVCPU      float64
	vcpus           []int
	arm64           bool
	absent          []string
}{
	{"Standard_D%ds_v3", "standardDSv3Family", 4, []int{2, 4, 8, 16, 32}, false, nil},
	{"Standard_D%ds_v4", "standardDSv4Family", 4, []int{2, 4, 8, 16, 32}, false, nil},
	{"Standard_D%ds_v5", "standardDSv5Family", 4, []int{2, 4, 8, 16, 32}, false, nil},
	{"Standard_D%dds_v5", "standardDDSv5Family", 4, []int{2, 4, 8, 16, 32}, false, nil},
	{"Standard_D%das_v4", "standardDASv4Family", 4, []int{2, 4, 8, 16, 32}, false, nil},
	{"Standard_D%das_v5", "standardDASv5Family", 4, []int{2, 4, 8, 16, 32}, false, nil},
	{"Standard_D%dps_v5", "standardDPSv5Family", 4, []int{2, 4, 8, 16, 32}, true, []string{"westus", "northcentralus"}},
	{"Standard_E%ds_v3", "standardESv3Family", 8, []int{2, 4, 8, 16}, false, nil},
	{"Standard_E%ds_v5", "standardESv5Family", 8, []int{2, 4, 8, 16}, false, nil},
	{"Standard_F%ds_v2", "standardFSv2Family", 2, []int{2, 4, 8, 16}, false, nil},
	{"Standard_B%dms", "standardBSFamily", 4, []int{2, 4, 8}, false, nil},
	{"Standard_B%ds", "standardBSFamily", 2, []int{2}, false, nil},
}

var sizes = sync.OnceValue(func() map[string]Size {
	out := map[string]Size{}
	for _, f := range families {
		for _, n := range f.vcpus {
			s := Size{name: fmt.Sprintf(f.pattern, n), family: f.family, VCPUs: n, MemoryMiB: int(f.gibPerVCPU * float64(n) * 1024), arm64: f.arm64, absent: f.absent}
			out[strings.ToLower(s.name)] = s
		}
	}
	return out
})

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
	for _, name := range []string{"Standard_LRS", "StandardSSD_LRS", "Premium_LRS"} {
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
	arch := "x64"
	if s.arm64 {
		arch = "Arm64"
	}
	restrictions := []any{}
	if slices.Contains(s.absent, at) {
		restrictions = append(restrictions, wire.Doc{"type": "Location", "values": []any{at}, "reasonCode": "NotAvailableForSubscription", "restrictionInfo": wire.Doc{"locations": []any{at}}})
	}
	return wire.Doc{"resourceType": "virtualMachines", "name": s.name, "tier": "Standard", "size": strings.TrimPrefix(s.name, "Standard_"), "family": s.family,
		"locations": []any{at}, "restrictions": restrictions,
		"locationInfo": []any{wire.Doc{"location": at, "zones": []any{"1", "2", "3"}, "zoneDetails": []any{}}},
		"capabilities": capabilities("vCPUs", strconv.Itoa(s.VCPUs), "vCPUsAvailable", strconv.Itoa(s.VCPUs), "MemoryGB", strconv.FormatFloat(float64(s.MemoryMiB)/1024, 'g', -1, 64),
			"CpuArchitectureType", arch, "HyperVGenerations", "V1,V2", "PremiumIO", "True", "AcceleratedNetworkingEnabled", "True",
			"EphemeralOSDiskSupported", "True", "EncryptionAtHostSupported", "True", "MaxDataDiskCount", strconv.Itoa(2*s.VCPUs),
			"OSVhdSizeMB", "1047552", "MaxResourceVolumeMB", strconv.Itoa(s.VCPUs*8192), "CachedDiskBytes", strconv.Itoa(s.VCPUs<<34), "MaxNetworkInterfaces", "2", "LowPriorityCapable", "True")}
}

func vmSizes(c *provider.Call) (*provider.Reply, error) {
	var out []any
	for _, s := range orderedSizes() {
		out = append(out, wire.Doc{"name": s.name, "numberOfCores": s.VCPUs, "memoryInMB": s.MemoryMiB, "osDiskSizeInMB": 1047552, "resourceDiskSizeInMB": s.VCPUs * 8192, "maxDataDiskCount": 2 * s.VCPUs})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// VMSize is the name of the size of a virtual machine.
func VMSize(r *provider.Resource) string {
	return wire.Text(wire.Sub(wire.Props(r.Body), "hardwareProfile"), "vmSize")
}
