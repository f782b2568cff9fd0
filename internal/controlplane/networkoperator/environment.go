package networkoperator

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// guestImages are those of the release of the nodes, by the variable that names them.
var guestImages = []string{
	"KUBE_PROXY_IMAGE", contract.KubeProxy,
	contract.RBACProxyImageEnv, contract.ImageRBACProxy,
	"MULTUS_IMAGE", "multus-cni",
	"CNI_PLUGINS_IMAGE", contract.ImageNetworkPlugins,
	"BOND_CNI_PLUGIN_IMAGE", "network-interface-bond-cni",
	"WHEREABOUTS_CNI_IMAGE", "multus-whereabouts-ipam-cni",
	// The operator reads it under this name.
	"ROUTE_OVERRRIDE_CNI_IMAGE", "multus-route-override-cni",
	"MULTUS_NETWORKPOLICY_IMAGE", "multus-networkpolicy",
	"OVN_IMAGE", ovnImage,
	"EGRESS_ROUTER_CNI_IMAGE", "egress-router-cni",
	"NETWORK_METRICS_DAEMON_IMAGE", "network-metrics-daemon",
	"NETWORK_CHECK_SOURCE_IMAGE", Name,
	"NETWORK_CHECK_TARGET_IMAGE", Name,
	"NETWORKING_CONSOLE_PLUGIN_IMAGE", "networking-console-plugin",
	"CLI_IMAGE", component.ToolsImage,
	"FRR_K8S_IMAGE", "metallb-frr",
}

func environment(ctx *component.Context, endpoints publish.Endpoints) []corev1.EnvVar {
	env := component.Environment("HYPERSHIFT", "true", "CA_CONFIG_MAP", contract.RootCA, "CA_CONFIG_MAP_KEY", contract.CAKey,
		"OVN_NB_RAFT_ELECTION_TIMER", "10", "OVN_SB_RAFT_ELECTION_TIMER", "16", "OVN_NORTHD_PROBE_INTERVAL", "5000",
		"OVN_CONTROLLER_INACTIVITY_PROBE", "180000", "OVN_NB_INACTIVITY_PROBE", "60000")
	env = append(env, component.FromField(contract.PodNameEnv, "metadata.name"), component.FromField("HOSTED_CLUSTER_NAMESPACE", "metadata.namespace"))
	env = append(env, component.Environment("HOSTED_CLUSTER_NAME", ctx.HCP.Name, "TOKEN_AUDIENCE", ctx.HCP.Spec.IssuerURL,
		contract.ReleaseVersionEnv, ctx.GuestVersion, "OPENSHIFT_RELEASE_IMAGE", ctx.ReleaseImage,
		"MULTUS_ADMISSION_CONTROLLER_IMAGE", ctx.Image(multusImage), "OVN_CONTROL_PLANE_IMAGE", ctx.Image(ovnImage),
		"CLOUD_NETWORK_CONFIG_CONTROLLER_IMAGE", ctx.Image(cloudConfigImage), contract.TokenMinterImageEnv, ctx.Settings.Image,
		"CLI_CONTROL_PLANE_IMAGE", ctx.Image(component.ToolsImage), "SOCKS5_PROXY_IMAGE", ctx.Settings.Image)...)
	for i := 0; i < len(guestImages); i += 2 {
		env = append(env, corev1.EnvVar{Name: guestImages[i], Value: ctx.GuestImage(guestImages[i+1])})
	}
	env = append(env, apiServer(ctx, endpoints)...)
	for _, variable := range ctx.Settings.ManagementProxy() {
		// The operator's own way is that of the guest's API server; this one is for what it makes beside it.
		env = append(env, corev1.EnvVar{Name: "MGMT_" + variable.Name, Value: variable.Value})
	}
	return append(env, ctx.Settings.RunAsUser()...)
}

// apiServer is where nodes and their pods reach the API server, before there is a network.
func apiServer(ctx *component.Context, endpoints publish.Endpoints) []corev1.EnvVar {
	plan := publish.PlanOf(ctx.HCP)
	if plan.Private() {
		port := 443
		if plan.Strategy(hyperv1.APIServer).Type == hyperv1.LoadBalancer {
			port = publish.APIServerPort
		}
		return component.Environment("APISERVER_OVERRIDE_HOST", publish.InternalAPIHost(ctx.HCP), "APISERVER_OVERRIDE_PORT", strconv.Itoa(port))
	}
	return component.Environment("APISERVER_OVERRIDE_HOST", endpoints.APIServer.Host, "APISERVER_OVERRIDE_PORT", strconv.Itoa(int(endpoints.APIServer.Port)),
		"PROXY_INTERNAL_APISERVER_ADDRESS", "true")
}
