package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/health"
)

// What is told of a hosted cluster and of a node pool: what may tell of a failure, and what only informs.
var (
	clusterConditions = slices.Concat([]string{
		hyperv1.IgnitionServerValidReleaseInfo, hyperv1.ClusterVersionRetrievedUpdates, hyperv1.HostedClusterRestoredFromBackup,
		hyperv1.EtcdBackupSucceeded, hyperv1.EtcdRestoredInPlace, hyperv1.EtcdRecoveryActive, hyperv1.PublicEndpointExposed,
		hyperv1.CloudResourcesDestroyed, hyperv1.CVOScaledDown, hyperv1.HostedClusterDestroyed,
	}, slices.Sorted(maps.Keys(health.Cluster)))
	poolConditions = slices.Concat([]string{
		hyperv1.NodePoolAutoscalingEnabled, hyperv1.NodePoolOSImageStreamSupported, hyperv1.NodePoolAutorepairEnabled,
	}, slices.Sorted(maps.Keys(health.Pool)))
	conditionStatuses = []string{string(corev1.ConditionTrue), string(corev1.ConditionFalse), string(corev1.ConditionUnknown)}
)

// checkCondition refuses to wait for what nobody ever tells of the kind.
func (t *target) checkCondition(name, status string) error {
	known := clusterConditions
	if t.pool {
		known = poolConditions
	}
	kind, _, _ := strings.Cut(t.String(), " ")
	if !slices.Contains(known, name) {
		return fmt.Errorf("--for %s%s: a %s has no such condition%s; docs/reference/conditions.md has those that there are",
			forCondition, name, kind, printing.Suggest(name, known))
	}
	if !slices.ContainsFunc(conditionStatuses, func(s string) bool { return strings.EqualFold(s, status) }) {
		return fmt.Errorf("--for %s%s=%s: a condition is %s%s",
			forCondition, name, status, strings.Join(conditionStatuses, ", "), printing.Suggest(status, conditionStatuses))
	}
	return nil
}
