// Package tunnelagent is the konnectivity agent beside a control plane: by it the hosted API server reaches OpenShift's aggregated API
// servers, which the guest knows by the addresses of their Services in the management cluster.
package tunnelagent

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/lifecyclemanager"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and the Secret of its certificate.
const Name = contract.KonnectivityAgent

const healthPort = 2041

// Component is the konnectivity agent of the control plane's namespace.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{release.KeyKonnectivity},
		DependsOn: []string{contract.APIServer},
		Traits:    component.Traits{Replicas: 2},
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	identifiers, err := identifiersOf(ctx)
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: Name, Labels: map[string]string{"kubernetes.io/cluster-service": "true"}}}
	return []client.Object{account, component.NewDeployment(Name, pod(ctx, identifiers))}, nil
}

// identifiersOf are the addresses that the agent leads to.
func identifiersOf(ctx *component.Context) (string, error) {
	names := []string{contract.OpenShiftAPIServer, lifecyclemanager.Packages}
	if ctx.LogsUsersIn() {
		names = append(names, contract.OAuthAPIServer)
	}
	var out []string
	for _, name := range names {
		service := &corev1.Service{}
		err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: ctx.Namespace(), Name: name}, service)
		if apierrors.IsNotFound(err) || err == nil && service.Spec.ClusterIP == "" {
			return "", &component.MissingInputError{Kind: "Service", Name: name}
		}
		if err != nil {
			return "", fmt.Errorf("read Service %s: %w", name, err)
		}
		out = append(out, "ipv4="+service.Spec.ClusterIP)
	}
	return strings.Join(out, "&"), nil
}

func pod(ctx *component.Context, identifiers string) corev1.PodSpec {
	image := ctx.Image(release.KeyKonnectivity)
	if own := ctx.HCP.Annotations[hyperv1.KonnectivityAgentImageAnnotation]; own != "" {
		image = own
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: Name, Image: image, Command: []string{"/usr/bin/proxy-agent"},
			Args: []string{"--logtostderr=true", "--ca-cert", "/etc/konnectivity/ca/ca.crt", "--agent-cert", "/etc/konnectivity/agent/tls.crt",
				"--agent-key", "/etc/konnectivity/agent/tls.key", "--proxy-server-host", publish.KonnectivityService,
				"--proxy-server-port", fmt.Sprint(publish.KonnectivityPort), "--health-server-port", fmt.Sprint(healthPort),
				"--agent-identifiers", identifiers, "--keepalive-time", "30s", "--probe-interval", "5s", "--sync-interval", "5s",
				"--sync-interval-cap", "30s", "--v", "3"},
			Ports:          []corev1.ContainerPort{component.TCPPort("health", healthPort)},
			Resources:      component.Requests("40m", "50Mi"),
			StartupProbe:   probe("/healthz", 5, 5, 60),
			LivenessProbe:  probe("/healthz", 30, 5, 6),
			ReadinessProbe: probe("/readyz", 30, 5, 1),
			VolumeMounts:   []corev1.VolumeMount{component.Mount("agent-certs:/etc/konnectivity/agent"), component.Mount("konnectivity-ca:/etc/konnectivity/ca")},
		}},
		Volumes: []corev1.Volume{component.SecretVolume("agent-certs", contract.KonnectivityAgent),
			component.ConfigMapVolume("konnectivity-ca", contract.KonnectivityCABundle)},
	}
}

func probe(path string, period, timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: period, TimeoutSeconds: timeout, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(healthPort), Scheme: corev1.URISchemeHTTP}}}
}
