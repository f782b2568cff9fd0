package nodepool

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// machineHealthCheck replaces nodes that stay unhealthy; it starts when the first machine has been reached by ignition, so that a
// configuration that never boots does not make machines without end.
func (r *Reconciler) machineHealthCheck(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolAutorepairEnabled
	if !p.np.Spec.Management.AutoRepair {
		if p.status(condition) != corev1.ConditionFalse {
			if err := kube.DeleteIfExists(ctx, r.client, clusterapi.New(clusterapi.MachineHealthCheck, p.namespace, p.np.Name)); err != nil {
				return err
			}
		}
		p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
		return nil
	}
	if p.status(hyperv1.NodePoolReachedIgnitionEndpoint) != corev1.ConditionTrue {
		return nil
	}
	if err := r.apply(ctx, desiredHealthCheck(ctx, p)); err != nil {
		return err
	}
	p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	return nil
}

func desiredHealthCheck(ctx context.Context, p *pass) *unstructured.Unstructured {
	selector := resourceLabel(p.hc.Spec.InfraID, p.hc.Name, p.np.Name)
	limits := healthLimitsOf(ctx, p)
	unhealthy := func(status string) map[string]any {
		return map[string]any{"type": "Ready", "status": status, "timeoutSeconds": limits.unhealthySeconds}
	}
	check := clusterapi.New(clusterapi.MachineHealthCheck, p.namespace, p.np.Name)
	check.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: reference(p.np)})
	check.Object["spec"] = map[string]any{
		"clusterName": p.hc.Spec.InfraID,
		"selector":    map[string]any{"matchLabels": map[string]any{selector: selector}},
		"checks": map[string]any{
			"nodeStartupTimeoutSeconds": limits.startupSeconds,
			"unhealthyNodeConditions":   []any{unhealthy("False"), unhealthy("Unknown")},
		},
		"remediation": map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": intOrString(limits.maxUnhealthy)}},
	}
	return check
}

// healthLimits are the patience of auto-repair.
type healthLimits struct {
	unhealthySeconds, startupSeconds int64
	maxUnhealthy                     intstr.IntOrString
}

// healthLimitsOf are our defaults, or what annotations of the node pool, else of the cluster, say.
func healthLimitsOf(ctx context.Context, p *pass) healthLimits {
	unhealthy := 8 * time.Minute
	if p.np.Spec.Platform.Type == hyperv1.NonePlatform {
		unhealthy = 16 * time.Minute
	}
	limits := healthLimits{
		unhealthySeconds: int64(p.duration(ctx, hyperv1.MachineHealthCheckTimeout, unhealthy).Seconds()),
		startupSeconds:   int64(p.duration(ctx, hyperv1.MachineHealthCheckNodeStartup, 20*time.Minute).Seconds()),
		maxUnhealthy:     intstr.FromInt32(2),
	}
	if text := p.override(hyperv1.MachineHealthCheckMaxUnhealthy); text != "" {
		limits.maxUnhealthy = intstr.Parse(text)
	}
	return limits
}

func (p *pass) override(annotation string) string {
	if text := p.np.Annotations[annotation]; text != "" {
		return text
	}
	return p.hc.Annotations[annotation]
}

// duration of an annotation; one that cannot be read leaves the default in force, repair must not stop over it.
func (p *pass) duration(ctx context.Context, annotation string, otherwise time.Duration) time.Duration {
	text := p.override(annotation)
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
