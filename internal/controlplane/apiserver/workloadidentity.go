package apiserver

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const (
	webhookName = contract.WorkloadIdentityWebhook
	// podTokenAudience is what federated credentials for workloads expect, unlike those of the control plane.
	podTokenAudience = contract.CloudTokenAudience

	webhookHealthPort, webhookMetricsPort = 9440, 9441
)

// addWorkloadIdentityWebhook puts Azure's webhook beside the API server, where the platform is Azure and the payload has it: pods of
// the guest that ask for a workload identity get a token. The API server calls it at 127.0.0.1, and so directly: its egress selector
// sends only Services and pods through the tunnel. The webhook needs no API server to start, and asks its own one when it is called.
func addWorkloadIdentityWebhook(ctx *component.Context, pod *corev1.PodSpec) {
	if ctx.HCP.Spec.Platform.Azure == nil || ctx.Image(webhookName) == "" {
		return
	}
	pod.Containers = append(pod.Containers, workloadIdentityWebhook(ctx))
	pod.Volumes = append(pod.Volumes,
		component.SecretVolume("webhook-server", pki.WebhookServing), component.SecretVolume("webhook-kubeconfig", pki.WebhookKubeconfig))
}

func workloadIdentityWebhook(ctx *component.Context) corev1.Container {
	azure := ctx.HCP.Spec.Platform.Azure
	probe := func(path string, period, failures int32) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(webhookHealthPort), Scheme: corev1.URISchemeHTTP}}}
	}
	return corev1.Container{
		Name: webhookName, Image: ctx.Image(webhookName),
		Command: []string{"/bin/" + webhookName,
			"--audience=" + podTokenAudience,
			"--kubeconfig=/etc/kubernetes/webhook/kubeconfig/kubeconfig",
			"--webhook-cert-dir=/etc/kubernetes/webhook/server", "--disable-cert-rotation", "--tls-min-version=1.2",
			"--health-addr=:9440", "--metrics-addr=:9441", "--log-level=info"},
		Env: []corev1.EnvVar{{Name: contract.AzureTenantIDEnv, Value: azure.TenantID}, {Name: "AZURE_ENVIRONMENT", Value: azure.Cloud}},
		Ports: []corev1.ContainerPort{
			{Name: "webhook-health", ContainerPort: webhookHealthPort, Protocol: corev1.ProtocolTCP},
			{Name: "webhook-metrics", ContainerPort: webhookMetricsPort, Protocol: corev1.ProtocolTCP},
		},
		Resources: component.Requests("10m", "25Mi"),
		// While it does not serve, pods would pass without their identity: the configuration lets them. Another API server takes their requests.
		StartupProbe: probe("/readyz", 1, 120), LivenessProbe: probe("/healthz", 10, 6), ReadinessProbe: probe("/readyz", 10, 3),
		VolumeMounts: []corev1.VolumeMount{
			component.Mount("webhook-server:/etc/kubernetes/webhook/server"), component.Mount("webhook-kubeconfig:/etc/kubernetes/webhook/kubeconfig"),
		},
	}
}
