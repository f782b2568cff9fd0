package autoscaler

import (
	"fmt"
	"strconv"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// ignoredLabels differ between nodes that are otherwise alike.
var ignoredLabels = []string{
	hyperv1.NodePoolLabel,
	"topology.ebs.csi.aws.com/zone",
	"topology.disk.csi.azure.com/zone",
	"ibm-cloud.kubernetes.io/worker-id",
	"vpc-block-csi-driver-labels",
	hyperv1.NodePoolGlobalPullSecretLabel,
	"agentpool",
	"kubernetes.azure.com/agentpool",
}

// expanderFlags maps the API's names to the autoscaler's.
var expanderFlags = map[string]string{"LeastWaste": "least-waste", "Priority": "priority", "Random": "random"}

// Args are the autoscaler's arguments: what never changes, then spec.autoscaling.
func Args(hcp *hyperv1.HostedControlPlane) []string {
	args := []string{
		"--cloud-provider=clusterapi",
		"--node-group-auto-discovery=clusterapi:namespace=$(MY_NAMESPACE)",
		"--kubeconfig=" + kubeconfig,
		"--clusterapi-cloud-config-authoritative",
		"--skip-nodes-with-local-storage=false",
		"--balance-similar-node-groups",
		"--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s",
		"--v=4",
	}
	spec := hcp.Spec.Autoscaling
	args = append(args, limitArgs(spec)...)
	args = append(args, "--expander="+expanders(spec.Expanders))
	if spec.Scaling == "ScaleUpOnly" {
		args = append(args, "--scale-down-enabled=false")
	}
	args = append(args, scaleDownArgs(spec.ScaleDown)...)
	for _, labels := range [][]string{ignoredLabels, spec.BalancingIgnoredLabels} {
		for _, label := range labels {
			args = append(args, "--balancing-ignore-label="+label)
		}
	}
	return args
}

func limitArgs(spec hyperv1.ClusterAutoscaling) []string {
	var args []string
	for _, limit := range []struct {
		flag  string
		value *int32
	}{
		{"max-nodes-total", spec.MaxNodesTotal},
		{"max-graceful-termination-sec", spec.MaxPodGracePeriod},
		{"expendable-pods-priority-cutoff", spec.PodPriorityThreshold},
	} {
		if limit.value != nil {
			args = append(args, fmt.Sprintf("--%s=%d", limit.flag, *limit.value))
		}
	}
	if spec.MaxNodeProvisionTime != "" {
		args = append(args, "--max-node-provision-time="+spec.MaxNodeProvisionTime)
	}
	if ratio := spec.MaxFreeDifferenceRatioPercent; ratio != nil {
		args = append(args, "--max-free-difference-ratio="+fraction(*ratio))
	}
	return args
}

func expanders(names []string) string {
	if len(names) == 0 {
		names = []string{"Priority", "LeastWaste"}
	}
	var flags []string
	for _, name := range names {
		flags = append(flags, expanderFlags[name])
	}
	return strings.Join(flags, ",")
}

func scaleDownArgs(spec *hyperv1.ScaleDownConfig) []string {
	if spec == nil {
		return nil
	}
	var args []string
	for _, delay := range []struct {
		flag    string
		seconds *int32
	}{
		{"scale-down-delay-after-add", spec.DelayAfterAddSeconds},
		{"scale-down-delay-after-delete", spec.DelayAfterDeleteSeconds},
		{"scale-down-delay-after-failure", spec.DelayAfterFailureSeconds},
		{"scale-down-unneeded-time", spec.UnneededDurationSeconds},
	} {
		if delay.seconds != nil {
			args = append(args, fmt.Sprintf("--%s=%ds", delay.flag, *delay.seconds))
		}
	}
	if threshold := spec.UtilizationThresholdPercent; threshold != nil {
		args = append(args, "--scale-down-utilization-threshold="+fraction(*threshold))
	}
	return args
}

// fraction writes a percentage as the autoscaler reads it.
func fraction(percent int32) string {
	return strconv.FormatFloat(float64(percent)/100, 'f', 2, 64)
}
