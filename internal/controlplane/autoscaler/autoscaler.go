// Package autoscaler is the cluster autoscaler of payloads that have one: it sizes the node pools through Cluster API.
package autoscaler

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and its payload image.
const Name = contract.ClusterAutoscaler

const (
	healthPort = 8085
	kubeconfig = "/mnt/kubeconfig/target-kubeconfig"

	// published is the program in the image that the autoscaler's own project publishes, shipped in that of OpenShift's payloads.
	published = "/cluster-autoscaler"
	shipped   = "/usr/bin/cluster-autoscaler"
)

// Component is the cluster autoscaler.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{Name},
		Optional:  true,
		DependsOn: []string{contract.APIServer},
		Enabled: func(ctx *component.Context) bool {
			_, disabled := ctx.HCP.Annotations[hyperv1.DisableMachineManagementAnnotation]
			return !disabled
		},
		Traits:  component.Traits{ManagementAccess: true, WaitFor: component.WaitForAPIServer, Idle: nothingToScale},
		Objects: objects,
	}
}

// Images are those of a payload, with the autoscaler that the user names instead of the payload's, or beside a payload that has none.
func Images(payload map[string]string, hcp *hyperv1.HostedControlPlane) map[string]string {
	named := hcp.Annotations[hyperv1.ClusterAutoscalerImageAnnotation]
	if named == "" {
		return payload
	}
	images := maps.Clone(payload)
	images[Name] = named
	return images
}

// nothingToScale: no node pool of the cluster leaves its size to the autoscaler.
func nothingToScale(hcp *hyperv1.HostedControlPlane) bool {
	_, disabled := hcp.Annotations[hyperv1.DisableClusterAutoscalerAnnotation]
	return disabled
}

func objects(ctx *component.Context) ([]client.Object, error) {
	access := component.Access(Name, ctx.Namespace(),
		// It marks the Machine to delete, and resizes what owns it by the scale subresource.
		rbac.Rule("cluster.x-k8s.io", "get,list,watch,update", "machinedeployments", "machinesets", "machines"),
		rbac.Rule("cluster.x-k8s.io", "get,update", "machinedeployments/scale", "machinesets/scale"),
		rbac.Rule("cluster.x-k8s.io", rbac.Read, "machinepools"),
		rbac.Rule("infrastructure.cluster.x-k8s.io", rbac.Read, "azuremachinetemplates"),
	)
	return append(access, deployment(ctx)), nil
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	health := &corev1.Probe{
		InitialDelaySeconds: 60, PeriodSeconds: 60, TimeoutSeconds: 5, FailureThreshold: 5,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/health-check", Port: intstr.FromInt32(healthPort)}},
	}
	ready := health.DeepCopy()
	ready.InitialDelaySeconds, ready.PeriodSeconds, ready.FailureThreshold = 0, 10, 3
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Image(Name),
				Command: append([]string{program(ctx)}, Args(ctx.HCP)...),
				// The namespace where it looks for node groups.
				Env: []corev1.EnvVar{{Name: "CAPI_GROUP", Value: "cluster.x-k8s.io"}, {Name: contract.NamespaceEnv, ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}},
				Ports:         []corev1.ContainerPort{{Name: "metrics", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP}},
				Resources:     component.Requests("10m", "60Mi"),
				LivenessProbe: health, ReadinessProbe: ready,
				VolumeMounts: []corev1.VolumeMount{component.Mount("target-kubeconfig:/mnt/kubeconfig")},
			}},
			Volumes: []corev1.Volume{targetKubeconfig(ctx.HCP.Spec.InfraID)},
		}}},
	}
	return d
}

// program is where the image has it.
func program(ctx *component.Context) string {
	if ctx.Payload == release.KindOpenShift {
		return shipped
	}
	return published
}

// targetKubeconfig is Cluster API's kubeconfig of the hosted cluster.
func targetKubeconfig(infraID string) corev1.Volume {
	volume := component.SecretVolume("target-kubeconfig", infraID+"-kubeconfig")
	volume.Secret.Items = []corev1.KeyToPath{{Key: contract.ValueKey, Path: "target-kubeconfig"}}
	volume.Secret.DefaultMode = ptr.To[int32](0o640)
	return volume
}
