package metrics

import (
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

var (
	nodePools  = newGauge(series.Telemetry, "hypershift_nodepools", "Number of node pools.", "platform")
	poolFailed = newGauge(series.Telemetry, "hypershift_nodepools_failure_conditions",
		"Number of node pools with this condition not as it should be; one that should be False has the prefix not_.", "platform", "condition")

	poolRollingOut = poolGauge("hypershift_nodepools_initial_rolling_out_duration_seconds",
		"Time since the node pool was created, until its first version is rolled out completely.")
	poolSize      = poolGauge("hypershift_nodepools_size", "Number of nodes that the node pool should have.")
	poolAvailable = poolGauge("hypershift_nodepools_available_replicas", "Number of available nodes of the node pool.")
	poolDeleting  = poolGauge("hypershift_nodepools_deleting_duration_seconds",
		"Time since the deletion of the node pool was asked for, while it goes on.")
)

func collectPool(np *hyperv1.NodePool, clusterID string, now time.Time, to chan<- prometheus.Metric) {
	send := func(g gauge, value float64) {
		g.send(to, value, np.Namespace, np.Name, clusterID, np.Spec.ClusterName, string(np.Spec.Platform.Type))
	}
	switch {
	case !np.DeletionTimestamp.IsZero():
		send(poolDeleting, now.Sub(np.DeletionTimestamp.Time).Seconds())
	case np.Status.Version == "":
		send(poolRollingOut, now.Sub(np.CreationTimestamp.Time).Seconds())
	}
	send(poolSize, float64(sizeOf(np)))
	send(poolAvailable, float64(np.Status.Replicas))
}

// sizeOf is what the pool was told to have; an autoscaled pool should have what it has, within its limits.
func sizeOf(np *hyperv1.NodePool) int32 {
	if scaling := np.Spec.AutoScaling; scaling != nil {
		return min(max(np.Status.Replicas, scaling.Min), scaling.Max)
	}
	return ptr.Deref(np.Spec.Replicas, 0)
}

// Reasons for which virtual CPUs cannot be counted.
const (
	unsupportedPlatform = "UnsupportedPlatform"
	unknownVMSize       = "UnknownVMSize"
)

// poolVCPUs counts the virtual CPUs of the available nodes; the reason is set when that is not possible.
func poolVCPUs(np *hyperv1.NodePool) (count int, reason string) {
	azure := np.Spec.Platform.Azure
	switch {
	case np.Status.Replicas == 0 || np.Spec.Platform.Type == hyperv1.NonePlatform:
		return 0, ""
	case azure == nil:
		return 0, unsupportedPlatform
	}
	each, known := vmSizeVCPUs(azure.VMSize)
	if !known {
		return 0, unknownVMSize
	}
	return each * int(np.Status.Replicas), ""
}

var (
	// vmSizeName is Azure's convention: family, virtual CPUs, then those of a constrained size, features and version.
	vmSizeName = regexp.MustCompile(`^Standard_[A-Z]+(\d+)(?:-(\d+))?[a-z]*(?:_.*)?$`)
	// firstSizes numbered their members instead.
	firstSizes = regexp.MustCompile(`^Standard_(?:DS?|GS?)(\d+)(?:_v2)?(?:_Promo)?$`)
	firstVCPUs = map[string]int{
		"1": 1, "2": 2, "3": 4, "4": 8, "5": 16, "11": 2, "12": 4, "13": 8, "14": 16, "15": 20,
	}
	firstGVCPUs = map[string]int{"1": 2, "2": 4, "3": 8, "4": 16, "5": 32}
)

// vmSizeVCPUs reads the virtual CPUs from the name of a VM size.
func vmSizeVCPUs(size string) (int, bool) {
	if match := firstSizes.FindStringSubmatch(size); match != nil {
		numbers := firstVCPUs
		if size[len("Standard_")] == 'G' {
			numbers = firstGVCPUs
		}
		count, known := numbers[match[1]]
		return count, known
	}
	match := vmSizeName.FindStringSubmatch(size)
	if match == nil {
		return 0, false
	}
	number := match[1]
	if match[2] != "" {
		number = match[2]
	}
	count, err := strconv.Atoi(number)
	return count, err == nil
}
