package azure

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	apiSKUs = "2021-07-01"
	// typeOfMachines is what the list of SKUs calls sizes of virtual machines.
	typeOfMachines = "virtualMachines"
)

// MachineSize is what a size of virtual machines has.
type MachineSize struct {
	// Name as Azure spells it, such as Standard_D4s_v3.
	Name  string
	VCPUs int64
	// MemoryMiB is in mebibytes.
	MemoryMiB int64
	GPUs      int64
	// Arch is amd64 or arm64.
	Arch string
}

// sku is one entry of Azure's list of machine sizes.
type sku struct {
	ResourceType string       `json:"resourceType"`
	Name         string       `json:"name"`
	Capabilities []capability `json:"capabilities"`
}

// capability is what a size has, as text.
type capability struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// architectures are Azure's names of those that Kubernetes has names for.
var architectures = map[string]string{"x64": "amd64", "Arm64": "arm64"}

// MachineSizes reads the sizes of virtual machines of a location, by their names in lower case. A size whose row cannot be read is left
// out: https://learn.microsoft.com/rest/api/compute/resource-skus/list.
func (s *Session) MachineSizes(ctx context.Context, location string) (map[string]MachineSize, error) {
	path := "/subscriptions/" + s.SubscriptionID + "/providers/Microsoft.Compute/skus"
	rows, err := list[sku](ctx, s, path, apiSKUs, fmt.Sprintf("location eq '%s'", location))
	if err != nil {
		return nil, err
	}
	out := map[string]MachineSize{}
	for _, row := range rows {
		if size, ok := row.size(); ok {
			out[strings.ToLower(size.Name)] = size
		}
	}
	return out, nil
}

func (k sku) size() (MachineSize, bool) {
	if !strings.EqualFold(k.ResourceType, typeOfMachines) {
		return MachineSize{}, false
	}
	capability := map[string]string{}
	for _, c := range k.Capabilities {
		capability[c.Name] = c.Value
	}
	cpus, err := strconv.ParseInt(capability["vCPUs"], 10, 64)
	if err != nil || cpus <= 0 {
		return MachineSize{}, false
	}
	gibibytes, err := strconv.ParseFloat(capability["MemoryGB"], 64)
	if err != nil || math.IsNaN(gibibytes) || gibibytes <= 0 || gibibytes > math.MaxInt32 {
		return MachineSize{}, false
	}
	arch, known := architectures[capability["CpuArchitectureType"]]
	if !known {
		return MachineSize{}, false
	}
	var gpus int64
	if text, given := capability["GPUs"]; given {
		if gpus, err = strconv.ParseInt(text, 10, 64); err != nil || gpus < 0 {
			return MachineSize{}, false
		}
	}
	return MachineSize{Name: k.Name, VCPUs: cpus, MemoryMiB: int64(math.Round(gibibytes * 1024)), GPUs: gpus, Arch: arch}, true
}
