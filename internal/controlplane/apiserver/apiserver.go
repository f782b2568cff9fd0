// Package apiserver is the hosted kube-apiserver with the konnectivity server beside it.
package apiserver

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// Name of the component and its Deployment.
const Name = contract.APIServer

const (
	certDir   = "/etc/kubernetes/certs"
	configDir = "/etc/kubernetes/config"
	auditDir  = "/var/log/kube-apiserver"
	auditFile = auditDir + "/audit.log"

	egressConfigMap = contract.APIServerEgress
	auditConfigMap  = contract.APIServerAudit

	// The 70 s of the shutdown delay, the requests and watches after it, and some air.
	terminationGrace = 135
)

var traits = component.Traits{
	Replicas: 3, Priority: component.PriorityAPICritical, RequestServing: true, Budget: true,
}

// Certificates are the Secrets with a certificate that the pods mount, or a kubeconfig of theirs carries, besides that of the etcd client.
var Certificates = []string{
	pki.APIServing, contract.APIPrivateCertificate, contract.APIKubeletCertificate, contract.APIAggregatorCertificate,
	contract.KonnectivityClient, contract.KonnectivityServer, contract.KonnectivityCluster,
	pki.WebhookServing, pki.WebhookClient, authenticator, pki.APIBootstrapClient, contract.AdminClient,
}

// Component is kube-apiserver; endpoints have where users log in.
func Component(endpoints publish.Endpoints) component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{"hyperkube", contract.ImageKonnectivity},
		DependsOn: []string{contract.Etcd},
		Traits:    traits,
		Reloads:   reloads,
		Objects:   func(ctx *component.Context) ([]client.Object, error) { return objects(ctx, endpoints) },
	}
}

// AdvertiseAddress of a control plane inside its guest.
func AdvertiseAddress(hcp *hyperv1.HostedControlPlane) string {
	if n := hcp.Spec.Networking.APIServer; n != nil && n.AdvertiseAddress != nil && *n.AdvertiseAddress != "" {
		return *n.AdvertiseAddress
	}
	return contract.DefaultAdvertiseAddress
}

func objects(ctx *component.Context, endpoints publish.Endpoints) ([]client.Object, error) {
	if len(ctx.HCP.Spec.Networking.ServiceNetwork) == 0 {
		return nil, fmt.Errorf("HostedControlPlane %s has no spec.networking.serviceNetwork; the API server needs one", ctx.HCP.Name)
	}
	config, err := clusterconfig.APIServerOf(ctx.HCP)
	if err != nil {
		return nil, err
	}
	policy, err := AuditPolicy(config.Audit)
	if err != nil {
		return nil, err
	}
	d := deployment(ctx)
	addAuditWebhook(ctx, &d.Spec.Template.Spec)
	addAuditLogs(ctx, &d.Spec.Template.Spec, config.Audit)
	addWorkloadIdentityWebhook(ctx, &d.Spec.Template.Spec)
	mountNamed(config.Serving(), &d.Spec.Template.Spec)
	more, err := externalOIDC(ctx, &d.Spec.Template)
	if err != nil {
		return nil, err
	}
	login, err := configureOpenShift(ctx, endpoints, &d.Spec.Template.Spec)
	if err != nil {
		return nil, err
	}
	if err := addBootstrap(ctx, &d.Spec.Template.Spec); err != nil {
		return nil, err
	}
	return append(append(more, login...),
		configMap(egressConfigMap, "config.yaml", egressConfig),
		configMap(auditConfigMap, "policy.yaml", policy),
		d,
	), nil
}

func configMap(name, key, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: content}}
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	cert := func(name, secret string) corev1.Volume { return component.SecretVolume(name, secret) }
	bundle := func(name, configMap string) corev1.Volume { return component.ConfigMapVolume(name, configMap) }
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](terminationGrace),
			Containers:                    []corev1.Container{apiServer(ctx)},
			Volumes: []corev1.Volume{
				cert("server", pki.APIServing), cert("server-private", contract.APIPrivateCertificate),
				cert("kubelet-client", contract.APIKubeletCertificate), cert("aggregator", contract.APIAggregatorCertificate),
				cert("etcd-client", contract.EtcdClientCertificate), cert(tunnelClientVolume, contract.KonnectivityClient),
				cert("service-account-key", contract.SigningKey),
				bundle("client-ca", contract.ClientCA), bundle("etcd-ca", contract.EtcdCA), bundle("kubelet-ca", contract.KubeletCA),
				bundle("aggregator-ca", contract.AggregatorClientCA), bundle(tunnelCAVolume, contract.KonnectivityCABundle),
				bundle("egress", egressConfigMap), bundle("audit-policy", auditConfigMap),
				component.EmptyDirVolume(auditVolume),
				cert("konnectivity-server", contract.KonnectivityServer), cert("konnectivity-cluster", contract.KonnectivityCluster),
			},
		}}},
	}
	addTunnel(ctx, &d.Spec.Template.Spec)
	encrypt(ctx, &d.Spec.Template)
	return d
}

func apiServer(ctx *component.Context) corev1.Container {
	c := corev1.Container{
		Name: Name, Image: ctx.Image("hyperkube"),
		Command:      append([]string{"/bin/kube-apiserver"}, Args(ctx)...),
		Ports:        []corev1.ContainerPort{{Name: "https", ContainerPort: publish.APIServerPort, Protocol: corev1.ProtocolTCP}},
		Resources:    component.Requests("350m", "2Gi"),
		StartupProbe: component.HTTPSProbe("/readyz", publish.APIServerPort, 1, 10, 300),
		// An API server without etcd must not be restarted: it would not come back before etcd does.
		LivenessProbe:  component.HTTPSProbe("/livez?exclude=etcd", publish.APIServerPort, 180, 160, 6),
		ReadinessProbe: component.HTTPSProbe("/readyz", publish.APIServerPort, 10, 10, 18),
		VolumeMounts: []corev1.VolumeMount{
			component.Mount("server:" + certDir + "/server"), component.Mount("server-private:" + certDir + "/server-private"),
			component.Mount("kubelet-client:" + certDir + "/kubelet-client"), component.Mount("aggregator:" + certDir + "/aggregator"),
			component.Mount("etcd-client:" + certDir + "/etcd-client"), component.Mount(tunnelClientVolume + ":" + certDir + "/konnectivity-client"),
			component.Mount("service-account-key:" + certDir + "/service-account"),
			component.Mount("client-ca:" + certDir + "/client-ca"), component.Mount("etcd-ca:" + certDir + "/etcd-ca"),
			component.Mount("kubelet-ca:" + certDir + "/kubelet-ca"), component.Mount("aggregator-ca:" + certDir + "/aggregator-ca"),
			component.Mount(tunnelCAVolume + ":" + certDir + "/konnectivity-ca"),
			component.Mount("egress:" + configDir + "/egress"), component.Mount("audit-policy:" + configDir + "/audit"),
			{Name: auditVolume, MountPath: auditDir},
		},
	}
	for _, tuning := range []struct{ annotation, variable string }{{hyperv1.KubeAPIServerGOGCAnnotation, "GOGC"}, {hyperv1.KubeAPIServerGOMemLimitAnnotation, "GOMEMLIMIT"}} {
		if value := ctx.HCP.Annotations[tuning.annotation]; value != "" {
			c.Env = append(c.Env, corev1.EnvVar{Name: tuning.variable, Value: value})
		}
	}
	return c
}
