// Package ignitionserver serves machines their first configuration.
package ignitionserver

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and its serving certificate's Secret.
const Name = contract.IgnitionServer

const certDir = "/var/run/secrets/ignition/serving-cert"

// Component is the ignition server. It does not need the hosted API server.
func Component() component.Component {
	c := common()
	c.Kind = release.KindKubernetes
	c.Objects = func(ctx *component.Context) ([]client.Object, error) {
		return append(rights(ctx), deployment(ctx)), nil
	}
	return c
}

// common is what both kinds of payload have.
func common() component.Component {
	return component.Component{
		Name: Name,
		Enabled: func(ctx *component.Context) bool {
			_, disabled := ctx.HCP.Annotations[hyperv1.DisableIgnitionServerAnnotation]
			return !disabled
		},
		// It reads release payloads from the registry.
		Traits:  component.Traits{Replicas: 2, ManagementAccess: true, ReachesCloud: true},
		Reloads: component.Names(Name),
	}
}

func rights(ctx *component.Context, more ...rbacv1.PolicyRule) []client.Object {
	sources := rbac.Named(rbac.Rule("", rbac.Read, "secrets"), contract.BootstrapKubeconfig, contract.PullSecret, Name)
	tokens := rbac.Named(rbac.Rule(rbacv1.GroupName, "list,watch", "roles"), contract.IgnitionTokens)
	return component.Access(Name, ctx.Namespace(), append([]rbacv1.PolicyRule{sources, tokens,
		rbac.Rule("", "list,watch", "configmaps"),
		rbac.Rule("events.k8s.io", "create,patch", "events"),
		rbac.Rule("hypershift.openshift.io", "list,watch", "hostedcontrolplanes"),
	}, more...)...)
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	healthz := component.HTTPSProbe("/healthz", publish.IgnitionPort, 10, 5, 3)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Settings.Image,
				Command: []string{component.Binary, contract.IgnitionServer, "--namespace=" + ctx.Namespace(),
					"--cert-file=" + certDir + "/tls.crt", "--key-file=" + certDir + "/tls.key"},
				Env: ctx.Settings.ReleaseEnv(),
				Ports: []corev1.ContainerPort{
					{Name: "https", ContainerPort: publish.IgnitionPort, Protocol: corev1.ProtocolTCP},
					{Name: "metrics", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
				},
				Resources:    component.Requests("10m", "40Mi"),
				StartupProbe: component.HTTPSProbe("/healthz", publish.IgnitionPort, 1, 5, 60), LivenessProbe: healthz, ReadinessProbe: healthz,
				VolumeMounts: []corev1.VolumeMount{component.Mount("serving-cert:" + certDir)},
			}},
			Volumes: []corev1.Volume{component.SecretVolume("serving-cert", Name)},
		}}},
	}
}
