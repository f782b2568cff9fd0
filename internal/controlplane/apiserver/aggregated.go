package apiserver

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// Aggregated is what OpenShift's aggregated API servers do as the API server does: they log by its audit settings, and are ready while it is.
type Aggregated struct {
	name  string
	audit clusterconfig.Audit
	// Policy is the ConfigMap of the audit policy, which component.AggregatedVolumes mounts.
	Policy *corev1.ConfigMap
}

// AggregatedOf returns the settings of the aggregated API server of this name.
func AggregatedOf(ctx *component.Context, name string) (Aggregated, error) {
	settings, err := clusterconfig.APIServerOf(ctx.HCP)
	if err != nil {
		return Aggregated{}, err
	}
	policy, err := AuditPolicy(settings.Audit)
	if err != nil {
		return Aggregated{}, err
	}
	return Aggregated{name: name, audit: settings.Audit,
		Policy: component.NewConfigMap(name+"-audit", map[string]string{"policy.yaml": policy, "profile": settings.Audit.Profile})}, nil
}

// AddContainers appends the log of audit events, unless nothing is logged, and the look at the API server.
func (a Aggregated) AddContainers(ctx *component.Context, spec *corev1.PodSpec) {
	if logs := component.AggregatedLogs(a.name); LogsAnything(a.audit) {
		spec.Containers = append(spec.Containers, component.AuditLogs(ctx, "work-logs", logs, logs+"/audit.log"))
	}
	spec.Containers = append(spec.Containers, component.APIServerCheck(ctx))
}
