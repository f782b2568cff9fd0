package ignition

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

var (
	//go:embed node/payload-fetch.sh
	payloadFetchScript string
	//go:embed node/registry-hosts.sh
	registryHostsScript string
	//go:embed node/kubelet-start.sh
	kubeletStartScript string
	//go:embed node/node-network.sh
	nodeNetworkScript string
)

// Payload images that a node of a plain Kubernetes payload needs before its first pod.
const (
	imageHyperkube     = "hyperkube"
	imagePod           = "pod"
	imageAPIProxy      = "haproxy-router"
	imageCNIPlugins    = "container-networking-plugins"
	imageMachineConfig = "machine-config-operator"
)

// Proxy is the node's way to the outside; empty fields are unset.
type Proxy struct {
	HTTPProxy, HTTPSProxy, NoProxy string
}

// Input is everything the configuration of a node depends on.
type Input struct {
	// Manifests are the documents of the node pool, the text under key config of its token secret.
	Manifests string
	// NodePool is the pool's name.
	NodePool string
	// Images maps payload keys to pull specs, as the node sees them.
	Images map[string]string
	// Mirrors are where release payloads may lie, too.
	Mirrors []release.Mirror
	// ServiceCIDR is the first service network.
	ServiceCIDR string
	// BootstrapKubeconfig, KubeletClientCA, PullSecret and CloudConfig come from the control-plane namespace.
	BootstrapKubeconfig, KubeletClientCA, PullSecret, CloudConfig []byte
	// TrustBundle holds the user's additional certificates, PEM.
	TrustBundle string
	Proxy       Proxy
}

// errMachineConfigOperator: a payload with the operator describes its nodes itself.
var errMachineConfigOperator = errors.New("the release payload brings its own machine-config-operator, whose rendering is not supported; use a plain Kubernetes payload")

// Render makes the configuration a node asks for. Errors are the user's to mend: the input is complete but unusable.
func Render(in Input) ([]byte, error) {
	if in.Images[imageMachineConfig] != "" {
		return nil, errMachineConfigOperator
	}
	user, err := mergeUserConfig(in.Manifests)
	if err != nil {
		return nil, err
	}
	base, err := plainNode(in, user.kubelet)
	if err != nil {
		return nil, err
	}
	mirrors, err := mirrorFiles(in, user.mirrors)
	if err != nil {
		return nil, err
	}
	base.Storage.Files = append(base.Storage.Files, mirrors...)
	return encode(v3_4.Merge(base, user.ignition))
}

// plainNode is the configuration of a node whose operating system brings Ignition, systemd and containerd, and nothing of Kubernetes.
func plainNode(in Input, kubeletOverrides map[string]any) (types.Config, error) {
	for _, key := range []string{imageHyperkube, imagePod, imageAPIProxy} {
		if in.Images[key] == "" {
			return types.Config{}, fmt.Errorf("the release payload has no image %q, which nodes need", key)
		}
	}
	kubelet, err := kubeletConfig(in.ServiceCIDR, kubeletOverrides)
	if err != nil {
		return types.Config{}, err
	}
	credentials, err := registryCredentials(in.PullSecret)
	if err != nil {
		return types.Config{}, err
	}
	config := types.Config{Ignition: types.Ignition{Version: specVersion}}
	config.Storage.Files = []types.File{
		file("/etc/kubernetes/kubeconfig", 0o600, string(in.BootstrapKubeconfig)),
		file("/etc/kubernetes/kubelet-ca.crt", 0o644, string(in.KubeletClientCA)),
		file("/etc/kubernetes/kubelet.conf", 0o644, kubelet),
		file("/etc/kubernetes/cloud.conf", 0o600, string(in.CloudConfig)),
		file("/etc/kubernetes/payload-images.env", 0o644, payloadImages(in.Images)),
		file("/etc/sysctl.d/99-kubernetes.conf", 0o644, "net.ipv4.ip_forward = 1\n"),
		file("/var/lib/kubelet/config.json", 0o600, string(in.PullSecret)),
		file("/usr/local/bin/payload-fetch", 0o755, payloadFetchScript),
		file("/usr/local/bin/registry-hosts", 0o755, registryHostsScript),
		file("/usr/local/bin/kubelet-start", 0o755, kubeletStartScript),
		file("/usr/local/bin/node-network", 0o755, nodeNetworkScript),
	}
	config.Storage.Files = append(config.Storage.Files, credentials...)
	config.Systemd.Units = plainUnits(in)
	addTrust(&config, in.TrustBundle)
	addProxy(&config, in.Proxy)
	return config, nil
}

func plainUnits(in Input) []types.Unit {
	return []types.Unit{
		unit("node-network.service",
			"[Unit]",
			"Description=Kernel settings of a Kubernetes node",
			"[Service]",
			"Type=oneshot",
			"RemainAfterExit=yes",
			"ExecStart=/usr/local/bin/node-network",
			"[Install]",
			"WantedBy=multi-user.target",
		),
		fetchUnit("kubelet", "Kubelet and sandbox image of the release payload"),
		fetchUnit("node", "Network plugins and API proxy image of the release payload"),
		unit("kubelet.service",
			"[Unit]",
			"Description=Kubelet of the release payload",
			"After=containerd.service kubelet-fetch.service node-network.service apiserver-ip.service",
			"Requires=kubelet-fetch.service",
			"Wants=node-network.service apiserver-ip.service",
			"[Service]",
			"Type=simple",
			"Environment=NODE_LABELS=hypershift.openshift.io/nodePool="+in.NodePool,
			"ExecStart=/usr/local/bin/kubelet-start",
			"Restart=always",
			"RestartSec=1",
			"[Install]",
			"WantedBy=multi-user.target",
		),
	}
}

// fetchUnit takes a part of the release payload from its images: PART-fetch.service.
func fetchUnit(part, description string) types.Unit {
	return unit(part+"-fetch.service",
		"[Unit]",
		"Description="+description,
		"After=containerd.service network-online.target",
		"Wants=network-online.target",
		"Requires=containerd.service",
		"[Service]",
		"Type=oneshot",
		"RemainAfterExit=yes",
		"ExecStart=/usr/local/bin/payload-fetch "+part,
		"[Install]",
		"WantedBy=multi-user.target",
	)
}

// kubeletConfig is the KubeletConfiguration of a node, JSON (which is YAML): the file is read by the payload's kubelet.
func kubeletConfig(serviceCIDR string, overrides map[string]any) (string, error) {
	dns, err := ClusterDNS(serviceCIDR)
	if err != nil {
		return "", err
	}
	config := map[string]any{
		"authentication": map[string]any{
			"x509":      map[string]any{"clientCAFile": "/etc/kubernetes/kubelet-ca.crt"},
			"webhook":   map[string]any{"enabled": true},
			"anonymous": map[string]any{"enabled": false},
		},
		"authorization":      map[string]any{"mode": "Webhook"},
		"rotateCertificates": true,
		"serverTLSBootstrap": true,
		// The containerd default: both sides agree on every operating system without asking which init it runs.
		"cgroupDriver":             "cgroupfs",
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"clusterDNS":               []any{dns},
		"clusterDomain":            "cluster.local",
		"resolvConf":               "/etc/resolv.conf",
		"staticPodPath":            "/etc/kubernetes/manifests",
		"volumePluginDir":          "/etc/kubernetes/kubelet-plugins/volume/exec",
		"maxPods":                  250,
		"serializeImagePulls":      false,
		// Absolute sizes: a share of a large disk would be wasted, and of a small one too little.
		"evictionHard":                map[string]any{"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
		"imageGCHighThresholdPercent": 95,
		"imageGCLowThresholdPercent":  90,
	}
	mergeMaps(config, overrides)
	config["apiVersion"] = "kubelet.config.k8s.io/v1beta1"
	config["kind"] = "KubeletConfiguration"
	encoded, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the kubelet configuration: %w", err)
	}
	return string(encoded) + "\n", nil
}

// ClusterDNS is the tenth address of a service network.
func ClusterDNS(serviceCIDR string) (string, error) {
	_, network, err := net.ParseCIDR(serviceCIDR)
	if err != nil {
		return "", fmt.Errorf("service network: %w", err)
	}
	address := slices.Clone(network.IP)
	for i, carry := len(address)-1, 10; i >= 0 && carry > 0; i-- {
		sum := int(address[i]) + carry
		address[i], carry = byte(sum), sum>>8
	}
	if !network.Contains(address) {
		return "", fmt.Errorf("service network %s is too small: its tenth address is the cluster's DNS", serviceCIDR)
	}
	return address.String(), nil
}

func payloadImages(images map[string]string) string {
	return fmt.Sprintf("HYPERKUBE_IMAGE=%s\nPOD_IMAGE=%s\nAPISERVER_PROXY_IMAGE=%s\nCNI_PLUGINS_IMAGE=%s\n",
		images[imageHyperkube], images[imagePod], images[imageAPIProxy], images[imageCNIPlugins])
}

func addTrust(config *types.Config, bundle string) {
	if strings.TrimSpace(bundle) == "" {
		return
	}
	config.Storage.Files = append(config.Storage.Files, file("/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", 0o644, bundle))
	config.Systemd.Units = append(config.Systemd.Units, unit("coreos-update-ca-trust.service",
		"[Unit]",
		"Description=Additional trust bundle of the hosted cluster",
		"ConditionPathExists=/usr/bin/update-ca-trust",
		"[Service]",
		"Type=oneshot",
		"RemainAfterExit=yes",
		"ExecStart=/usr/bin/update-ca-trust extract",
		"[Install]",
		"WantedBy=multi-user.target",
	))
}

func addProxy(config *types.Config, proxy Proxy) {
	lines := proxy.lines()
	if len(lines) == 0 {
		return
	}
	config.Storage.Files = append(config.Storage.Files, file("/etc/kubernetes/proxy.env", 0o600, strings.Join(lines, "\n")+"\n"))
	dropin := "[Service]\nEnvironmentFile=/etc/kubernetes/proxy.env\n"
	for i, known := range config.Systemd.Units {
		if known.Name == "kubelet.service" {
			config.Systemd.Units[i].Dropins = []types.Dropin{{Name: "10-proxy.conf", Contents: &dropin}}
		}
	}
	config.Systemd.Units = append(config.Systemd.Units, types.Unit{
		Name: "containerd.service", Dropins: []types.Dropin{{Name: "10-proxy.conf", Contents: &dropin}},
	})
}

func (p Proxy) lines() []string {
	var out []string
	for _, pair := range [][2]string{{"HTTP_PROXY", p.HTTPProxy}, {"HTTPS_PROXY", p.HTTPSProxy}, {"NO_PROXY", p.NoProxy}} {
		if pair[1] != "" {
			// Quoted: a shell reads the file too.
			value := "'" + strings.ReplaceAll(pair[1], "'", "%27") + "'"
			out = append(out, pair[0]+"="+value, strings.ToLower(pair[0])+"="+value)
		}
	}
	if p.HTTPProxy == "" && p.HTTPSProxy == "" {
		return nil
	}
	return out
}
