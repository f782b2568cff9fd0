// Package oauthapiserver is OpenShift's aggregated API server of users, groups, identities and OAuth tokens; the API server asks it whose
// a token is.
package oauthapiserver

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

// Name of the component, its Deployment and its Service.
const Name = contract.OAuthAPIServer

const (
	image     = contract.ImageOAuthAPIServer
	container = contract.ImageOAuthAPIServer
	port      = 8443
	logs      = "/var/log/" + Name
	certs     = "/etc/kubernetes/certs"
)

// Component is openshift-oauth-apiserver.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{image, component.ToolsImage},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Enabled:   func(ctx *component.Context) bool { return clusterconfig.OAuthEnabled(ctx.HCP) },
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
	flags, err := args(ctx)
	if err != nil {
		return nil, err
	}
	service := component.NewService(Name, 443, port)
	// All Services of aggregated API servers are found by one label.
	service.Labels[component.LabelApp] = contract.OpenShiftAPIServer
	return []client.Object{
		server.Policy,
		service,
		component.NewDeployment(Name, pod(ctx, server, flags)),
	}, nil
}

func pod(ctx *component.Context, server apiserver.Aggregated, flags []string) corev1.PodSpec {
	const proxy = "socks5://127.0.0.1:8090"
	volumes, mounts := component.AggregatedVolumes(Name)
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](120),
		Containers: []corev1.Container{{
			Name: container, Image: ctx.Image(image), Command: []string{"/usr/bin/oauth-apiserver"}, Args: flags, WorkingDir: logs,
			Env:            component.Environment(contract.HTTPProxyEnv, proxy, contract.HTTPSProxyEnv, proxy, contract.NoProxyEnv, component.NotThroughTheTunnel(ctx.HCP)),
			Resources:      component.Requests("150m", "80Mi"),
			LivenessProbe:  component.After(30, component.HTTPSProbe("/healthz", port, 10, 1, 3)),
			ReadinessProbe: component.HTTPSProbe("/readyz", port, 10, 1, 10),
			VolumeMounts:   mounts,
		}},
		Volumes: volumes,
	}
	if ctx.HCP.Spec.Etcd.Unmanaged == nil {
		spec.InitContainers = []corev1.Container{{
			Name: "wait-for-etcd", Image: ctx.Image(component.ToolsImage),
			Command: []string{"/bin/bash", "-c", `until nslookup "$0" >/dev/null 2>&1; do sleep 1; done`,
				contract.EtcdClientService + "." + ctx.Namespace() + ".svc"},
			Resources: component.Requests("10m", "10Mi"),
		}}
	}
	if component.AddAuditWebhook(ctx, &spec, "oauth-audit-webhook") {
		spec.Containers[0].Args = append(spec.Containers[0].Args, component.AuditWebhookFlags()...)
	}
	server.AddContainers(ctx, &spec)
	component.AddSOCKSProxy(ctx, &spec, component.TunnelProxy{Flags: []string{"--resolve-from-guest-cluster-dns=true"}})
	return spec
}

func args(ctx *component.Context) ([]string, error) {
	oauth, _, err := clusterconfig.OAuthOf(ctx.HCP)
	if err != nil {
		return nil, err
	}
	out := []string{"start", "--secure-port=8443", "--v=2", "--shutdown-delay-duration=15s",
		"--authorization-kubeconfig=" + component.NetworkKubeconfig, "--authentication-kubeconfig=" + component.NetworkKubeconfig,
		"--kubeconfig=" + component.NetworkKubeconfig,
		"--audit-log-path=" + logs + "/audit.log", "--audit-log-format=json", "--audit-log-maxsize=10", "--audit-log-maxbackup=1",
		"--audit-policy-file=/etc/kubernetes/audit-config/policy.yaml",
		"--etcd-cafile=" + certs + "/etcd-client-ca/ca.crt", "--etcd-keyfile=" + certs + "/etcd-client/etcd-client.key",
		"--etcd-certfile=" + certs + "/etcd-client/etcd-client.crt", "--etcd-servers=" + component.EtcdServers(ctx.HCP),
		`--cors-allowed-origins='//127\.0\.0\.1(:|$)'`, `--cors-allowed-origins='//localhost(:|$)'`,
		"--api-audiences=" + ctx.HCP.Spec.IssuerURL,
	}
	out = append(out, ctx.TLSFlags(certs+"/serving")...)
	out = append(out, component.RequestHeaderFlags()...)
	if timeout := oauth.TokenConfig.AccessTokenInactivityTimeout; timeout != nil {
		out = append(out, "--accesstoken-inactivity-timeout="+timeout.Duration.String())
	}
	return out, nil
}
