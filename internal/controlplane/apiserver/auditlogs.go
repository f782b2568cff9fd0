package apiserver

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	auditVolume = "audit-logs"
	// toolsImage has a shell.
	toolsImage = "cli"

	// followAudit prints the file, its name is $0, and follows it through rotations. An API server goes on serving, and logging, after it
	// was told to end: so the signal ends this when nothing was added for a while.
	followAudit = `tail -c +1 -F "$0" &
trap : TERM
wait $!
until size=$(wc -c <"$0"); sleep 5; [ "$size" = "$(wc -c <"$0")" ]; do :; done`
)

// addAuditLogs makes the audit log the log of a container, where log collectors find it. Without an event to log there is none, nor
// where the release has no image for it.
func addAuditLogs(ctx *component.Context, pod *corev1.PodSpec, audit clusterconfig.Audit) {
	if ctx.Image(toolsImage) == "" || !logsAnything(audit) {
		return
	}
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: "audit-logs", Image: ctx.Image(toolsImage),
		Command:      []string{"sh", "-c", followAudit, auditFile},
		Resources:    component.Requests("5m", "10Mi"),
		VolumeMounts: []corev1.VolumeMount{component.Mount(auditVolume + ":" + auditDir)},
	})
}

func logsAnything(audit clusterconfig.Audit) bool {
	const none = "None"
	for _, custom := range audit.CustomRules {
		if custom.Profile != none {
			return true
		}
	}
	return audit.Profile != none
}
