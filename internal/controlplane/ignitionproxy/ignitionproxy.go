// Package ignitionproxy stands between machines, which nobody knows yet, and the ignition server, which holds secrets: it ends their
// TLS connections, parses their requests, and passes on only valid ones.
package ignitionproxy

import (
	"fmt"

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
	Name = publish.IgnitionProxyService

	configDir = "/usr/local/etc/haproxy"
	configKey = "haproxy.cfg"
	certDir   = "/var/run/secrets/ignition/serving-cert"
)

// Component is the proxy; it exists where the ignition server does.
func Component() component.Component {
	server := ignitionserver.Component()
	return component.Component{
		Name:      Name,
		ImageKeys: []string{contract.ImageRouter},
		DependsOn: []string{ignitionserver.Name},
		Enabled:   server.Enabled,
		// The cluster's own router leads machines here: the network policy lets it reach what serves requests, and nothing else.
		Traits:  component.Traits{Replicas: 2, RequestServing: true},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}, Data: map[string]string{configKey: Config()}}
	return []client.Object{config, deployment(ctx)}, nil
}

// Config of HAProxy. The ignition server has the same certificate as its proxy, of an authority that signs nothing else: to be signed by
// it is proof enough. One thread does for requests that come once in the life of a machine.
func Config() string {
	return fmt.Sprintf(`global
  maxconn 1000
  nbthread 1
  log stdout format raw local0 notice
  ssl-load-extra-del-ext
  ssl-default-bind-options ssl-min-ver TLSv1.2
  ssl-default-server-options ssl-min-ver TLSv1.2

defaults
  mode http
  log global
  timeout http-request 5s
  timeout connect 5s
  timeout client 30s
  timeout server 30s

frontend ignition
  bind :::%d v4v6 ssl crt %s/tls.crt
  default_backend %s

backend %s
  server %s %s:443 ssl verify required ca-file %s/ca.crt
`, publish.IgnitionProxyPort, certDir, ignitionserver.Name, ignitionserver.Name, ignitionserver.Name, publish.IgnitionService, certDir)
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	listens := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(publish.IgnitionProxyPort)}},
		PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3,
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "haproxy", Image: ctx.Image(contract.ImageRouter),
				Command:       []string{"/usr/sbin/haproxy", "-f", configDir + "/" + configKey},
				Ports:         []corev1.ContainerPort{{Name: "https", ContainerPort: publish.IgnitionProxyPort, Protocol: corev1.ProtocolTCP}},
				Resources:     component.Requests("10m", "20Mi"),
				LivenessProbe: listens,
				// The server's own health, through the proxy.
				ReadinessProbe: component.HTTPSProbe("/healthz", publish.IgnitionProxyPort, 5, 5, 3),
				VolumeMounts:   []corev1.VolumeMount{component.Mount("config:" + configDir), component.Mount("serving-cert:" + certDir)},
			}},
			Volumes: []corev1.Volume{component.ConfigMapVolume("config", Name), component.SecretVolume("serving-cert", ignitionserver.Name)},
		}}},
	}
}
