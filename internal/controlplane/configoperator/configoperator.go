// Package configoperator is the hosted-cluster-config-operator, which keeps the inside of the guest.
package configoperator

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// Name of the component and its Deployment.
const Name = contract.ConfigOperator

// Component is the hosted-cluster-config-operator; agents in the guest dial the published konnectivity endpoint.
func Component(endpoints publish.Endpoints) component.Component {
	return component.Component{
		Name:      Name,
		DependsOn: []string{contract.APIServer},
		// It reads release payloads from the registry.
		Traits: component.Traits{ManagementAccess: true, ReachesCloud: true, Recreate: true},
		Objects: func(ctx *component.Context) ([]client.Object, error) {
			return append(rights(ctx), deployment(ctx, endpoints)), nil
		},
	}
}

func rights(ctx *component.Context) []client.Object {
	secrets := rbac.Named(rbac.Rule("", rbac.Read, "secrets"), access.ConfigOperatorSecrets(ctx.HCP, ctx.Payload)...)
	return component.Access(Name, ctx.Namespace(), append([]rbacv1.PolicyRule{secrets,
		rbac.Rule("hypershift.openshift.io", "list,watch", "hostedcontrolplanes", "controlplanecomponents"),
		rbac.Rule("hypershift.openshift.io", "update", "hostedcontrolplanes/status"),
		rbac.Rule("", "list,watch", "services"),
		rbac.Rule("", "list,watch,create,patch", "configmaps"),
		rbac.Rule("cluster.x-k8s.io", "list,watch,patch", "machines", "machinesets"),
	}, access.ConfigOperatorRights(ctx.Payload)...)...)
}

func deployment(ctx *component.Context, endpoints publish.Endpoints) *appsv1.Deployment {
	probe := func(path string) *corev1.Probe {
		p := component.HTTPSProbe(path, 6060, 10, 5, 3)
		p.HTTPGet.Scheme = corev1.URISchemeHTTP
		return p
	}
	startup := probe("/readyz")
	startup.PeriodSeconds, startup.FailureThreshold = 1, 120
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{component.AccessProber(ctx.Settings.Image, "kubeconfig", access.ConfigOperatorAccess)},
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Settings.Image,
				Command: []string{component.Binary, Name,
					"--namespace=" + ctx.Namespace(), "--target-kubeconfig=/etc/kubernetes/kubeconfig/kubeconfig",
					"--konnectivity-address=" + endpoints.Konnectivity.Host,
					fmt.Sprintf("--konnectivity-port=%d", endpoints.Konnectivity.Port)},
				Env: append([]corev1.EnvVar{{Name: contract.OwnReleaseEnv, Value: ctx.HCP.Spec.ReleaseImage}}, ctx.Settings.ReleaseEnv()...),
				Ports: []corev1.ContainerPort{
					{Name: "metrics", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "health", ContainerPort: 6060, Protocol: corev1.ProtocolTCP},
				},
				Resources:    component.Requests("60m", "80Mi"),
				StartupProbe: startup, LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
				VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/kubernetes/kubeconfig")},
			}},
			Volumes: []corev1.Volume{component.SecretVolume("kubeconfig", contract.ConfigOperatorKubeconfig)},
		}}},
	}
}
