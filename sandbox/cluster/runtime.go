package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// restrict_oom_score_adj: not every machine lets root lower the score, and a
// pod sandbox fails to start where that is not possible.
const containerdConfig = `version = 2
root = %q
state = %q
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.opt"]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_tcp_service = true
  max_concurrent_downloads = 6
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        BinaryName = %q
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
    max_conf_num = 1
`

// writeContainerd writes the configuration of containerd and of the pod network.
func (c Config) writeContainerd() error {
	text := fmt.Sprintf(containerdConfig, c.cluster("containerd"), c.runDir()+"/containerd", c.containerdSocket(), PauseImage, c.debian("runc"), c.Bin, c.cluster("cni"))
	if err := wholefile.WriteIfChanged(c.cluster("containerd.toml"), []byte(text), 0o644); err != nil {
		return err
	}
	return c.writePodNetwork(node{})
}

// writePodNetwork writes the network plugins' configuration of a node. One node has all of the pods' addresses, several share them.
func (c Config) writePodNetwork(n node) error {
	addresses := map[string]string{"subnet": names.PodCIDR}
	if c.Nodes > 1 {
		gateway, last := n.firstLast()
		addresses["gateway"], addresses["rangeStart"], addresses["rangeEnd"] = gateway.String(), gateway.Next().String(), last.String()
	}
	network, err := json.MarshalIndent(map[string]any{
		"cniVersion": "1.0.0", "name": names.CNINetwork,
		"plugins": []any{
			map[string]any{
				"type": "bridge", "bridge": names.PodBridge, "isGateway": true, "ipMasq": true, "hairpinMode": true,
				"ipam": map[string]any{
					"type": "host-local", "dataDir": c.runDir() + "/ipam",
					"ranges": []any{[]any{addresses}},
					"routes": []any{map[string]string{"dst": "0.0.0.0/0"}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]bool{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	dir := c.cluster("cni")
	if n.index > 0 {
		dir = c.disk(n, "cni")
	}
	return wholefile.WriteIfChanged(filepath.Join(dir, "10-pods.conflist"), network, 0o644)
}

// writeKubelet writes the kubelet's configuration and the pods' resolv.conf.
func (c Config) writeKubelet() error {
	if err := wholefile.WriteIfChanged(c.cluster("resolv.conf"), []byte("nameserver "+names.EdgeIP+"\n"), 0o644); err != nil {
		return err
	}
	return c.writeKubeletOf(node{})
}

func (c Config) kubeletConfig(n node) string { return c.cluster(n.suffixed("kubelet", ".yaml")) }

// healthAddress is where a node's kubelet tells its health. A further node has a loopback of its own, which nobody else reaches.
func (n node) healthAddress() string {
	if n.index == 0 {
		return "127.0.0.1"
	}
	return n.address()
}

// writeKubeletOf writes the configuration of a node's kubelet. Only node 0 is a virtual machine in Azure, and has the cgroups' root.
func (c Config) writeKubeletOf(n node) error {
	text, err := c.kubeletOf(n)
	if err != nil {
		return err
	}
	return wholefile.WriteIfChanged(c.kubeletConfig(n), text, 0o644)
}

// kubeletOf has the fields by name: their type would link Prometheus' library into the command line. A test holds them to the type.
func (c Config) kubeletOf(n node) ([]byte, error) {
	provider, cgroups := cloud.NodeProviderID(), "/"
	if n.index > 0 {
		provider, cgroups = "", "/"+n.group()
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": map[string]any{
			"x509": map[string]any{"clientCAFile": c.pki("ca.crt")}, "webhook": map[string]any{"enabled": true},
			"anonymous": map[string]any{"enabled": false}},
		"authorization":            map[string]any{"mode": "Webhook"},
		"address":                  n.address(),
		"healthzBindAddress":       n.healthAddress(),
		"tlsCertFile":              c.pki(n.credential() + ".crt"),
		"tlsPrivateKeyFile":        c.pki(n.credential() + ".key"),
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               cgroups,
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"containerRuntimeEndpoint": "unix://" + c.containerdSocket(),
		"clusterDNS":               []string{names.DNSServiceIP},
		"clusterDomain":            "cluster.local",
		"resolvConf":               c.cluster("resolv.conf"),
		"providerID":               provider,
		"maxPods":                  500,
		"podPidsLimit":             -1,
		"evictionHard": map[string]string{
			"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%"},
		// What is pulled stays: the registry is on the same disk.
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
		"serializeImagePulls":         false,
		// The machine is smaller than the node it plays: quotas would
		// throttle pods against a size that is not there.
		"cpuCFSQuota":         false,
		"volumePluginDir":     c.cluster("kubelet", "volume-plugins"),
		"podLogsDir":          c.cluster("pod-logs"),
		"shutdownGracePeriod": "0s",
		"featureGates":        map[string]bool{"KubeletCrashLoopBackOffMax": true},
		"crashLoopBackOff":    map[string]string{"maxContainerRestartPeriod": "1s"},
	})
}

// proxyMode prefers nftables, which is quicker and leaves one table behind
// instead of dozens of chains.
func proxyMode() string {
	if _, err := exec.LookPath("nft"); err == nil {
		return "nftables"
	}
	return "iptables"
}

func (c Config) writeKubeProxy() error { return c.writeKubeProxyOf(node{}) }

func (c Config) kubeProxyConfig(n node) string { return c.cluster(n.suffixed("kube-proxy", ".yaml")) }

// writeKubeProxyOf writes the configuration of a node's kube-proxy.
func (c Config) writeKubeProxyOf(n node) error {
	unlimited := map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}
	sync := map[string]string{"syncPeriod": "30s", "minSyncPeriod": "100ms"}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode": proxyMode(), "clusterCIDR": names.PodCIDR, "hostnameOverride": n.name(), "bindAddress": n.address(),
		"healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249",
		"nodePortAddresses": []string{n.address() + "/32"},
		"clientConnection":  map[string]string{"kubeconfig": c.clientKubeconfig("proxy")},
		"conntrack":         unlimited, "iptables": sync, "nftables": sync,
	})
	if err != nil {
		return err
	}
	return wholefile.WriteIfChanged(c.kubeProxyConfig(n), text, 0o644)
}

// makeDirs makes the directories the processes expect.
func (c Config) makeDirs() error {
	for _, dir := range []string{c.cluster("etcd"), c.cluster("kubelet"), c.cluster("containerd"), c.cluster("pod-logs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for _, dir := range []string{c.cluster("volumes"), c.runDir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}
