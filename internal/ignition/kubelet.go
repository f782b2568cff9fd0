package ignition

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// defaultMaxPods is how many pods a node takes.
const defaultMaxPods = 250

// MaxPods is how many pods a node takes whose pool has these documents, as they are in the token secret.
func MaxPods(documents string) (int64, error) {
	user, err := mergeUserConfig(documents)
	if err != nil {
		return 0, err
	}
	switch given := user.kubelet["maxPods"].(type) {
	case int64:
		return given, nil
	case float64:
		return int64(given), nil
	}
	return defaultMaxPods, nil
}

// kubeletConfig is the KubeletConfiguration of a node, JSON (which is YAML): the file is read by the payload's kubelet. What only the
// machine knows, and overrides do not have, kubelet-start adds: resolvConf and systemReserved.
func kubeletConfig(serviceCIDR string, overrides map[string]any) (string, error) {
	dns, err := ClusterDNS(serviceCIDR)
	if err != nil {
		return "", err
	}
	config, err := kube.Compact(&kubeletv1beta1.KubeletConfiguration{
		Authentication: kubeletv1beta1.KubeletAuthentication{
			X509:      kubeletv1beta1.KubeletX509Authentication{ClientCAFile: "/etc/kubernetes/kubelet-ca.crt"},
			Webhook:   kubeletv1beta1.KubeletWebhookAuthentication{Enabled: ptr.To(true)},
			Anonymous: kubeletv1beta1.KubeletAnonymousAuthentication{Enabled: ptr.To(false)},
		},
		Authorization:      kubeletv1beta1.KubeletAuthorization{Mode: kubeletv1beta1.KubeletAuthorizationModeWebhook},
		RotateCertificates: true,
		ServerTLSBootstrap: true,
		// The container runtime is configured for systemd, too; one that can be asked confirms it.
		CgroupDriver:             "systemd",
		ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
		FailCgroupV1:             ptr.To(false),
		FailSwapOn:               ptr.To(false),
		ClusterDNS:               []string{dns},
		ClusterDomain:            "cluster.local",
		StaticPodPath:            "/etc/kubernetes/manifests",
		// The kubelet's default lies below /usr.
		VolumePluginDir:     "/var/lib/kubelet/volume-plugins",
		MaxPods:             defaultMaxPods,
		SerializeImagePulls: ptr.To(false),
		// Absolute sizes: a share of a large disk would be wasted, and of a small one too little.
		EvictionHard:                map[string]string{"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
		ImageGCHighThresholdPercent: ptr.To[int32](95),
		ImageGCLowThresholdPercent:  ptr.To[int32](90),
	})
	if err != nil {
		return "", err
	}
	mergeMaps(config, overrides)
	config["apiVersion"] = kubeletv1beta1.SchemeGroupVersion.String()
	config["kind"] = "KubeletConfiguration"
	encoded, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the kubelet configuration: %w", err)
	}
	return string(encoded) + "\n", nil
}

// kubeletOverrides are what the spec of a KubeletConfig asks for. A machine reserves resources by its size, unless the document says
// what to reserve, or forbids the computation: then it is what OpenShift's nodes reserve.
func kubeletOverrides(spec map[string]any) map[string]any {
	overrides := maps.Clone(object(spec, "kubeletConfig"))
	if auto, set := spec["autoSizingReserved"].(bool); set && !auto && overrides["systemReserved"] == nil {
		overrides["systemReserved"] = map[string]any{"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"}
	}
	return overrides
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
