package component

import (
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// ToolsImage is the payload image that has a shell, curl and oc.
const ToolsImage = "cli"

const (
	// followAudit prints the file, its name is $0, and follows it through rotations. An API server goes on serving, and logging, after it
	// was told to end: so the signal ends this when nothing was added for a while.
	followAudit = `tail -c +1 -F "$0" &
trap : TERM
wait $!
until size=$(wc -c <"$0"); sleep 5; [ "$size" = "$(wc -c <"$0")" ]; do :; done`

	tunnelClient = "konnectivity-proxy-cert"
	tunnelCA     = "konnectivity-proxy-ca"

	// proxyKubeconfigDir is where a tunnel proxy has its kubeconfig, proxyTrustDir where it looks for more authorities.
	proxyKubeconfigDir = "/etc/kubernetes/secrets/kubeconfig"

	featureGateKey = "feature-gate.yaml"
)

// AuditLogs prints an API server's audit log, dir/audit.log on the volume, as the log of a container, where log collectors find it.
func AuditLogs(ctx *Context, volume, dir, file string) corev1.Container {
	return corev1.Container{
		Name: "audit-logs", Image: ctx.Image(ToolsImage),
		Command:      []string{"sh", "-c", followAudit, file},
		Resources:    Requests("5m", "10Mi"),
		VolumeMounts: []corev1.VolumeMount{Mount(volume + ":" + dir)},
	}
}

// APIServerCheck makes a pod ready only while it reaches the API server, whose clients it serves.
func APIServerCheck(ctx *Context) corev1.Container {
	return corev1.Container{
		Name: "kas-readiness-check", Image: ctx.Image(ToolsImage),
		Command:   []string{"sleep", "infinity"},
		Resources: Requests("10m", "10Mi"),
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
			Command: []string{"curl", "--fail", "--silent", "--insecure", "--output", "/dev/null", "https://kube-apiserver:6443/livez"}}}},
	}
}

// TunnelProxy is a side-car through which a program reaches the guest's network, on 127.0.0.1.
type TunnelProxy struct {
	// Port is 8090 where nothing is said.
	Port int32
	// Kubeconfig is the volume with its kubeconfig; "kubeconfig" where nothing is said.
	Kubeconfig string
	// Flags of its own.
	Flags []string
}

// DirectToCloud is the flag of a proxy that reaches Azure without the tunnel, by the management cluster's own way out.
const DirectToCloud = "--connect-directly-to-cloud-apis=true"

// AddHTTPSProxy appends a proxy for HTTP CONNECT with what it mounts.
func AddHTTPSProxy(ctx *Context, spec *corev1.PodSpec, proxy TunnelProxy) {
	if c := ctx.HCP.Spec.Configuration; c != nil && c.Proxy != nil {
		for _, own := range []struct{ flag, value string }{
			{"http-proxy", c.Proxy.HTTPProxy}, {"https-proxy", c.Proxy.HTTPSProxy}, {"no-proxy", c.Proxy.NoProxy},
		} {
			if own.value != "" {
				proxy.Flags = append(proxy.Flags, "--"+own.flag+"="+own.value)
			}
		}
	}
	addProxy(ctx, spec, "konnectivity-proxy-https", contract.CommandHTTPSProxy, proxy)
	if slices.Contains(proxy.Flags, DirectToCloud) {
		own := &spec.Containers[len(spec.Containers)-1]
		own.Env = append(own.Env, ctx.Settings.ManagementProxy()...)
	}
}

// AddSOCKSProxy appends a SOCKS5 proxy with what it mounts.
func AddSOCKSProxy(ctx *Context, spec *corev1.PodSpec, proxy TunnelProxy) {
	addProxy(ctx, spec, "konnectivity-proxy-socks5", contract.CommandSOCKSProxy, proxy)
}

func addProxy(ctx *Context, spec *corev1.PodSpec, name, program string, proxy TunnelProxy) {
	kubeconfig := proxy.Kubeconfig
	if kubeconfig == "" {
		kubeconfig = "kubeconfig"
	}
	command := []string{Binary, program, "run"}
	if proxy.Port != 0 {
		command = append(command, fmt.Sprintf("--serving-port=%d", proxy.Port))
	}
	c := corev1.Container{
		Name: name, Image: ctx.Settings.Image, Command: append(command, proxy.Flags...),
		Env:       []corev1.EnvVar{{Name: "KUBECONFIG", Value: proxyKubeconfigDir + "/kubeconfig"}},
		Resources: Requests("10m", "30Mi"),
		VolumeMounts: []corev1.VolumeMount{Mount(kubeconfig + ":" + proxyKubeconfigDir),
			Mount(tunnelClient + ":/etc/konnectivity/proxy-client"), Mount(tunnelCA + ":/etc/konnectivity/proxy-ca")},
	}
	if ctx.singleStackIPv4() {
		c.Command = append(c.Command, "--prefer-ipv4=true")
	}
	addVolumes(spec, SecretVolume(tunnelClient, contract.KonnectivityClient), ConfigMapVolume(tunnelCA, contract.KonnectivityCABundle))
	if bundle := ctx.HCP.Spec.AdditionalTrustBundle; bundle != nil {
		v := ConfigMapVolume("user-ca-bundle", contract.UserCABundle)
		addVolumes(spec, v)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, ReadOnly: true,
			MountPath: "/etc/pki/tls/certs/user-ca-bundle.pem", SubPath: hyperv1.TrustBundleKey})
	}
	spec.Containers = append(spec.Containers, c)
}

func (c *Context) singleStackIPv4() bool {
	return !slices.ContainsFunc(c.HCP.Spec.Networking.ClusterNetwork, func(n hyperv1.ClusterNetworkEntry) bool { return strings.Contains(string(n.CIDR), ":") })
}

// EtcdServers is where the API servers of a control plane keep their objects.
func EtcdServers(hcp *hyperv1.HostedControlPlane) string {
	if u := hcp.Spec.Etcd.Unmanaged; u != nil {
		return u.Endpoint
	}
	return "https://" + contract.EtcdClientService + ":2379"
}

// FeatureGates are those of the hosted cluster's version, each Name=true or Name=false, sorted by name as the ConfigMap has them; it is
// missing until the payload's own program has rendered it for the version.
func (c *Context) FeatureGates() ([]string, error) {
	data, err := c.ConfigMap(contract.FeatureGate)
	if err != nil {
		return nil, err
	}
	gate := configv1.FeatureGate{}
	if err := yaml.Unmarshal(data[featureGateKey], &gate); err != nil {
		return nil, fmt.Errorf("read %s of ConfigMap %s: %w", featureGateKey, contract.FeatureGate, err)
	}
	for _, of := range gate.Status.FeatureGates {
		if of.Version != c.GuestVersion {
			continue
		}
		var gates []string
		for _, g := range of.Enabled {
			gates = append(gates, string(g.Name)+"=true")
		}
		for _, g := range of.Disabled {
			gates = append(gates, string(g.Name)+"=false")
		}
		slices.Sort(gates)
		return gates, nil
	}
	return nil, &MissingInputError{Kind: "ConfigMap", Name: contract.FeatureGate, Key: featureGateKey + " of version " + c.GuestVersion}
}

// FeatureGateFlags tell a program of Kubernetes' own which gates an OpenShift payload of its version has; others have their defaults.
func (c *Context) FeatureGateFlags() ([]string, error) {
	if c.Payload != release.KindOpenShift {
		return nil, nil
	}
	gates, err := c.FeatureGates()
	if err != nil {
		return nil, err
	}
	for i := range gates {
		gates[i] = "--feature-gates=" + gates[i]
	}
	return gates, nil
}

// ServingInfo is how OpenShift's programs are told to serve, with a certificate of dir.
func (c *Context) ServingInfo(address, dir, clientCA string) configv1.HTTPServingInfo {
	profile := clusterconfig.TLSOf(c.HCP.Spec.Configuration)
	return configv1.HTTPServingInfo{ServingInfo: configv1.ServingInfo{
		BindAddress: address, BindNetwork: "tcp",
		CertInfo:      configv1.CertInfo{CertFile: dir + "/tls.crt", KeyFile: dir + "/tls.key"},
		ClientCA:      clientCA,
		MinTLSVersion: profile.MinVersion, CipherSuites: profile.Suites,
	}}
}

// GenericControllerConfig renders what an operator of OpenShift's is told about its serving; it finds its certificate by itself.
func (c *Context) GenericControllerConfig(address string) (string, error) {
	config := struct {
		metav1.TypeMeta                  `json:",inline"`
		configv1.GenericControllerConfig `json:",inline"`
	}{TypeMeta: metav1.TypeMeta{Kind: "GenericControllerConfig", APIVersion: configv1.GroupVersion.String()}}
	config.ServingInfo = c.ServingInfo(address, "", "")
	config.ServingInfo.CertInfo = configv1.CertInfo{}
	return YAML(config)
}

// LogsUsersIn tells whether there is an OAuth server: OpenShift's payloads have one, unless users are those of a provider outside.
func (c *Context) LogsUsersIn() bool {
	return c.Payload == release.KindOpenShift && clusterconfig.OAuthEnabled(c.HCP)
}

// ForwardsMetrics tells whether the hosted cluster reads the metrics of its control plane: OpenShift's payloads have the monitoring that does.
func (c *Context) ForwardsMetrics() bool {
	return c.Payload == release.KindOpenShift && clusterconfig.ForwardsMetrics(c.HCP)
}

// HasCapability tells whether the hosted cluster has the optional capability.
func HasCapability(hcp *hyperv1.HostedControlPlane, capability hyperv1.OptionalCapability) bool {
	return hcp.Spec.Capabilities == nil || !slices.Contains(hcp.Spec.Capabilities.Disabled, capability)
}

// YAML renders a configuration file.
func YAML(config any) (string, error) {
	text, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("render %T: %w", config, err)
	}
	return string(text), nil
}
