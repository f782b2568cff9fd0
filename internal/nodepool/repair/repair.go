// Package repair makes the object that has Cluster API replace machines that stay unhealthy.
package repair

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
)

// HealthCheck is the object that has Cluster API replace unhealthy machines of the pool.
func HealthCheck(ctx context.Context, hc *hyperv1.HostedCluster, np *hyperv1.NodePool, namespace string) *unstructured.Unstructured {
	selector := names.ResourceLabel(hc.Spec.InfraID, hc.Name, np.Name)
	limits := healthLimitsOf(ctx, annotations{np.Annotations, hc.Annotations}, np.Spec.Platform.Type)
	unhealthy := func(status string) map[string]any {
		return map[string]any{"type": "Ready", "status": status, "timeoutSeconds": limits.unhealthySeconds}
	}
	check := clusterapi.New(clusterapi.MachineHealthCheck, namespace, np.Name)
	check.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: names.Reference(np)})
	check.Object["spec"] = map[string]any{
		"clusterName": hc.Spec.InfraID,
		"selector":    map[string]any{"matchLabels": map[string]any{selector: selector}},
		"checks": map[string]any{
			"nodeStartupTimeoutSeconds": limits.startupSeconds,
			"unhealthyNodeConditions":   []any{unhealthy("False"), unhealthy("Unknown")},
		},
		"remediation": map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": limits.maxUnhealthy}},
	}
	return check
}

// healthLimits are the patience of auto-repair.
type healthLimits struct {
	unhealthySeconds, startupSeconds int64
	maxUnhealthy                     any // a number as int64, or a share as text
}

// healthLimitsOf are our defaults, or what annotations of the node pool, else of the cluster, say.
func healthLimitsOf(ctx context.Context, said annotations, platform hyperv1.PlatformType) healthLimits {
	unhealthy := 8 * time.Minute
	if platform == hyperv1.NonePlatform {
		unhealthy = 16 * time.Minute
	}
	limits := healthLimits{
		unhealthySeconds: int64(said.duration(ctx, hyperv1.MachineHealthCheckTimeout, unhealthy).Seconds()),
		startupSeconds:   int64(said.duration(ctx, hyperv1.MachineHealthCheckNodeStartup, 20*time.Minute).Seconds()),
		maxUnhealthy:     int64(2),
	}
	if text := said.override(hyperv1.MachineHealthCheckMaxUnhealthy); text != "" {
		limits.maxUnhealthy = text
		if number, err := strconv.ParseInt(text, 10, 32); err == nil {
			limits.maxUnhealthy = number
		}
	}
	return limits
}

// annotations are those of the node pool, and those of its cluster.
type annotations [2]map[string]string

func (said annotations) override(annotation string) string {
	return cmp.Or(said[0][annotation], said[1][annotation])
}

// duration of an annotation; one that cannot be read leaves the default in force, repair must not stop over it.
func (said annotations) duration(ctx context.Context, annotation string, otherwise time.Duration) time.Duration {
	text := said.override(annotation)
	if text == "" {
		return otherwise
	}
	value, err := time.ParseDuration(text)
	if err != nil || value <= 0 {
		ctrl.LoggerFrom(ctx).Info("the annotation is no positive duration and is ignored", "annotation", annotation, "value", text)
		return otherwise
	}
	return value
}
