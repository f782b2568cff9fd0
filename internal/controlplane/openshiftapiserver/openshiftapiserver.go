// Package openshiftapiserver is OpenShift's aggregated API server: Routes, Projects, Images, Builds, Templates and the like.
package openshiftapiserver

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment, its Service, its ConfigMap and its payload image.
const Name = contract.OpenShiftAPIServer

const (
	port    = 8443
	logs    = "/var/log/" + Name
	trust   = "/etc/pki/ca-trust/extracted/pem"
	serving = "/etc/kubernetes/certs/serving"
	// gatherTrust copies the image's authorities to the volume, and adds what signs the guest's own Services once that is known.
	gatherTrust = `cp -f ` + trust + `/* /run/ca-trust-generated/
if [ -f /run/service-ca-signer/service-ca.crt ]; then
  chmod 0644 /run/ca-trust-generated/tls-ca-bundle.pem
  cat /run/service-ca-signer/service-ca.crt >>/run/ca-trust-generated/tls-ca-bundle.pem
fi`
)

// Component is openshift-apiserver.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{Name, component.ToolsImage},
		DependsOn: []string{contract.APIServer},
		Traits: component.Traits{Replicas: 3, Priority: component.PriorityAPICritical, Budget: true,
			WaitFor: component.WaitForAPIServer},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	server, err := apiserver.AggregatedOf(ctx, Name)
	if err != nil {
		return nil, err
	}
	config, err := configuration(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := pod(ctx, server)
	if err != nil {
		return nil, err
	}
	return []client.Object{
		component.NewConfigMap(Name, map[string]string{"config.yaml": config}),
		server.Policy,
		component.NewService(Name, 443, port),
		component.NewDeployment(Name, spec),
	}, nil
}

func pod(ctx *component.Context, server apiserver.Aggregated) (corev1.PodSpec, error) {
	volumes, mounts := component.AggregatedVolumes(Name)
	authority := component.ConfigMapVolume("kube-controller-manager", contract.ServiceAuthority)
	authority.ConfigMap.Optional = ptr.To(true)
	pull := component.SecretVolume("pull-secret", component.PullSecret)
	pull.Secret.Items = []corev1.KeyToPath{{Key: corev1.DockerConfigJsonKey, Path: "config.json"}}
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](120),
		InitContainers: []corev1.Container{{
			Name: "oas-trust-anchor-generator", Image: ctx.Image(Name),
			Command:   []string{"/bin/bash", "-c", gatherTrust},
			Resources: component.Requests("10m", "20Mi"),
			VolumeMounts: []corev1.VolumeMount{{Name: "oas-trust-anchor", MountPath: "/run/ca-trust-generated"},
				component.Mount("kube-controller-manager:/run/service-ca-signer")},
		}},
		Containers: []corev1.Container{{
			Name: Name, Image: ctx.Image(Name), Args: args(ctx), WorkingDir: logs,
			Env: component.Environment(contract.HTTPProxyEnv, "http://127.0.0.1:8090", contract.HTTPSProxyEnv, "http://127.0.0.1:8090",
				contract.NoProxyEnv, component.NotThroughTheTunnel(ctx.HCP)),
			Ports:          []corev1.ContainerPort{component.TCPPort("https", port)},
			Resources:      component.Requests("100m", "200Mi"),
			LivenessProbe:  component.HTTPSProbe("/livez?exclude=etcd", port, 10, 10, 3),
			ReadinessProbe: component.HTTPSProbe("/readyz?exclude=etcd&exclude=etcd-readiness", port, 10, 1, 10),
			StartupProbe:   component.HTTPSProbe("/livez", port, 5, 10, 30),
			VolumeMounts: append(mounts, component.Mount("config:/etc/kubernetes/config"),
				component.Mount("oas-trust-anchor:"+trust), component.Mount("pull-secret:/var/lib/kubelet")),
		}},
		Volumes: append(volumes, component.ConfigMapVolume("config", Name), component.EmptyDirVolume("oas-trust-anchor"), authority, pull),
	}
	if err := addTrust(ctx, &spec); err != nil {
		return spec, err
	}
	component.AddAuditWebhook(ctx, &spec, "oas-audit-webhook")
	server.AddContainers(ctx, &spec)
	component.AddHTTPSProxy(ctx, &spec, component.TunnelProxy{})
	return spec, nil
}

func args(ctx *component.Context) []string {
	out := []string{"start", "--config=/etc/kubernetes/config/config.yaml",
		"--authorization-kubeconfig=" + component.NetworkKubeconfig, "--authentication-kubeconfig=" + component.NetworkKubeconfig}
	out = append(out, component.RequestHeaderFlags()...)
	if !clusterconfig.OAuthEnabled(ctx.HCP) {
		out = append(out, "--internal-oauth-disabled=true")
	}
	return out
}
