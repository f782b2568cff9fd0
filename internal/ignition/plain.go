package ignition

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"
)

var (
	//go:embed node/payload-fetch.sh
	payloadFetchScript string
	//go:embed node/registry-hosts.sh
	registryHostsScript string
	//go:embed node/kubelet-start.sh
	kubeletStartScript string
	//go:embed node/node-name.sh
	nodeNameScript string
	//go:embed node/node-network.sh
	nodeNetworkScript string
	//go:embed node/azure-ready.sh
	azureReadyScript string
	//go:embed node/containerd.toml
	containerdConfig string
)

// programs is where scripts lie: below /opt, since /usr belongs to the operating system and may be read-only.
const programs = "/opt/hypershift/bin/"

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
		file("/etc/kubernetes/payload-images.env", 0o644, payloadImages(in)),
		file("/etc/sysctl.d/99-kubernetes.conf", 0o644, "net.ipv4.ip_forward = 1\n"),
		file("/etc/containerd/config.toml", 0o644, strings.ReplaceAll(containerdConfig, "@SANDBOX_IMAGE@", in.Images[imagePod])),
		file("/var/lib/kubelet/config.json", 0o600, string(in.PullSecret)),
		file(programs+"payload-fetch", 0o755, payloadFetchScript),
		file(programs+"registry-hosts", 0o755, registryHostsScript),
		file(programs+"kubelet-start", 0o755, kubeletStartScript),
		file(programs+"node-name", 0o755, nodeNameScript),
		file(programs+"node-network", 0o755, nodeNetworkScript),
		file(programs+"azure-ready", 0o755, azureReadyScript),
	}
	config.Storage.Files = append(config.Storage.Files, credentials...)
	config.Systemd.Units = append(plainUnits(in), containerdUnit(in))
	addTrust(&config, in.TrustBundle)
	addProxy(&config, in.Proxy)
	holdUpdates(&config)
	addReport(&config, in.ReportCA)
	return config, nil
}

func payloadImages(in Input) string {
	first := []string{in.Images[imageNodeManager]}
	if !in.OwnNetwork {
		first = append(first, in.Images[imageFlannel])
	}
	first = slices.DeleteFunc(first, func(image string) bool { return image == "" })
	return fmt.Sprintf("HYPERKUBE_IMAGE=%s\nPOD_IMAGE=%s\nAPISERVER_PROXY_IMAGE=%s\nCNI_PLUGINS_IMAGE=%s\nFIRST_IMAGES=\"%s\"\n",
		in.Images[imageHyperkube], in.Images[imagePod], in.Images[imageAPIProxy], in.Images[imageCNIPlugins], strings.Join(first, " "))
}

func plainUnits(in Input) []types.Unit {
	return []types.Unit{
		onceUnit("node-name.service", "Name of the virtual machine", "node-name",
			"After=network-online.target",
			"Wants=network-online.target",
		),
		onceUnit("node-network.service", "Kernel settings of a Kubernetes node", "node-network",
			"After=systemd-modules-load.service systemd-sysctl.service",
		),
		onceUnit("azure-ready.service", "Report to Azure that the machine is provisioned", "azure-ready",
			"After=network-online.target",
			"Wants=network-online.target",
		),
		fetchUnit("kubelet", "Kubelet and sandbox image of the release payload"),
		fetchUnit("node", "Network plugins and first images of the release payload"),
		sandboxImageUnit(),
		unit("sandbox-image.timer",
			"[Unit]",
			"Description=The sandbox image of the release payload stays",
			"[Timer]",
			"OnBootSec=2min",
			"OnUnitInactiveSec=1min",
			"[Install]",
			"WantedBy=timers.target",
		),
		unit("kubelet.service",
			"[Unit]",
			"Description=Kubelet of the release payload",
			// No requirement: it would end the kubelet for good with the first failure of what is tried again. The script looks itself.
			"After=containerd.service kubelet-fetch.service node-name.service node-network.service apiserver-ip.service",
			"Wants=containerd.service kubelet-fetch.service node-name.service node-network.service apiserver-ip.service",
			"StartLimitIntervalSec=0",
			"[Service]",
			"Type=simple",
			"Environment=NODE_LABELS="+in.labels(),
			"ExecStart="+programs+"kubelet-start",
			"Restart=always",
			"RestartSec=2",
			"CPUAccounting=yes",
			"MemoryAccounting=yes",
			"[Install]",
			"WantedBy=multi-user.target",
		),
	}
}

// onceUnit runs a script of ours at each boot until it succeeds.
func onceUnit(name, description, script string, relations ...string) types.Unit {
	lines := append([]string{"[Unit]", "Description=" + description}, relations...)
	return unit(name, append(lines,
		"StartLimitIntervalSec=0",
		"[Service]",
		"Type=oneshot",
		"RemainAfterExit=yes",
		"ExecStart="+programs+script,
		"Restart=on-failure",
		"RestartSec=5",
		"[Install]",
		"WantedBy=multi-user.target",
	)...)
}

// fetchUnit takes a part of the release payload from its images: PART-fetch.service.
func fetchUnit(part, description string) types.Unit {
	return onceUnit(part+"-fetch.service", description, "payload-fetch "+part,
		"After=containerd.service network-online.target",
		"Wants=containerd.service network-online.target",
	)
}

// sandboxImageUnit looks once whether the sandbox image is there. Its timer starts it, and nothing else.
func sandboxImageUnit() types.Unit {
	made := unit("sandbox-image.service",
		"[Unit]",
		"Description=Sandbox image of the release payload, again",
		"After=kubelet-fetch.service",
		"[Service]",
		"Type=oneshot",
		"ExecStart="+programs+"payload-fetch sandbox",
	)
	made.Enabled = nil
	return made
}

// containerdUnit has the operating system's container runtime run with our configuration, whatever its own unit says. systemd looks
// the program up by its name, since not every operating system has it in the same directory.
func containerdUnit(in Input) types.Unit {
	lines := []string{
		"[Service]",
		"ExecStart=",
		"ExecStart=containerd --config /etc/containerd/config.toml",
		"Delegate=yes",
		"OOMScoreAdjust=-999",
	}
	if hasTrust(in.TrustBundle) {
		lines = append([]string{"[Unit]", "Requires=" + trustUnit, "After=" + trustUnit}, lines...)
	}
	return types.Unit{Name: "containerd.service", Enabled: ptr.To(true), Dropins: []types.Dropin{dropin("10-kubernetes.conf", lines...)}}
}

func dropin(name string, lines ...string) types.Dropin {
	return types.Dropin{Name: name, Contents: ptr.To(strings.Join(lines, "\n") + "\n")}
}
