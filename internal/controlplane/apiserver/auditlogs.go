package apiserver

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const auditVolume = "audit-logs"

// addAuditLogs makes the audit log the log of a container, where log collectors find it. Without an event to log there is none, nor
// where the release has no image for it.
func addAuditLogs(ctx *component.Context, pod *corev1.PodSpec, audit clusterconfig.Audit) {
	if ctx.Image(component.ToolsImage) == "" || !LogsAnything(audit) {
		return
	}
	pod.Containers = append(pod.Containers, component.AuditLogs(ctx, auditVolume, auditDir, auditFile))
}

// LogsAnything tells whether an API server has an event to log.
func LogsAnything(audit clusterconfig.Audit) bool {
	const none = "None"
	for _, custom := range audit.CustomRules {
		if custom.Profile != none {
			return true
		}
	}
	return audit.Profile != none
}
