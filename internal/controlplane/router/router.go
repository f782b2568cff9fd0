// Package router is the hosted cluster's own router: it leads connections to the endpoints of the control plane by the name they ask
// for, ends no TLS, and takes those that ask for no name, as pods do that know the API server by its address, to the API server.
package router

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ignitionserver"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	// Name of the component, its Deployment and its ConfigMap.
	Name = publish.RouterService

	configDir  = "/usr/local/etc/haproxy"
	configKey  = "haproxy.cfg"
	healthPort = 9444
	healthPath = "/haproxy_ready"
	// drainSeconds is how long a pod that ends still serves: until then, no load balancer sends it anything new.
	drainSeconds = 15
)

// Component is the router.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{contract.ImageRouter},
		DependsOn: []string{ignitionserver.Name},
		Enabled:   func(ctx *component.Context) bool { return publish.PlanOf(ctx.HCP).NeedsRouter() },
		Traits: component.Traits{
			App: publish.RouterApp, Replicas: 3, Priority: component.PriorityAPICritical, RequestServing: true, Budget: true,
		},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Data:       map[string]string{configKey: Config(publish.Backends(ctx.HCP, ctx.LogsUsersIn(), ctx.ForwardsMetrics()))},
	}
	return []client.Object{config, deployment(ctx)}, nil
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Image(contract.ImageRouter),
				Command: []string{"/usr/sbin/haproxy", "-f", configDir + "/" + configKey},
				Ports: []corev1.ContainerPort{
					{Name: "https", ContainerPort: publish.RouterPort, Protocol: corev1.ProtocolTCP},
					{Name: "health", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP},
				},
				Resources:      component.Requests("50m", "40Mi"),
				LivenessProbe:  health(50, 10, 3),
				ReadinessProbe: health(0, 2, 3),
				Lifecycle:      &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drainSeconds}}},
				VolumeMounts:   []corev1.VolumeMount{component.Mount("config:" + configDir)},
			}},
			Volumes: []corev1.Volume{component.ConfigMapVolume("config", Name)},
		}}},
	}
}

func health(delay, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: healthPath, Port: intstr.FromInt32(healthPort), Scheme: corev1.URISchemeHTTP}},
		InitialDelaySeconds: delay, PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures,
	}
}
