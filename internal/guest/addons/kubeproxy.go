package addons

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	accountCA    = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
	accountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

func kubeProxy(facts *inside.Facts) []client.Object {
	container := corev1.Container{
		Name: ProxyName, Image: facts.Images[contract.KubeProxy], Command: []string{"/bin/kube-proxy"},
		Args:            []string{"--config=/etc/kube-proxy/config.yaml", "--hostname-override=$(NODE_NAME)", "--v=2"},
		Env:             []corev1.EnvVar{fieldEnv(contract.NodeNameEnv, "spec.nodeName")},
		Resources:       requests("10m", "40Mi"),
		VolumeMounts:    []corev1.VolumeMount{readOnly("config", "/etc/kube-proxy")},
		SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
	}
	return []client.Object{
		access.ServiceAccount(ProxyName),
		access.Bind("hypershift:kube-proxy", "system:node-proxier", access.Account(ProxyName)),
		configMap(ProxyName, map[string]string{"config.yaml": proxyConfig(facts), "kubeconfig": proxyKubeconfig(facts)}),
		daemonSet(ProxyName, corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: []corev1.Volume{configVolume("config", ProxyName)}}),
	}
}

// Connection tracking limits belong to the kernel, which a node may share: zero leaves them alone.
func proxyConfig(facts *inside.Facts) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: %s
clientConnection:
  kubeconfig: /etc/kube-proxy/kubeconfig
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
`, facts.PodCIDR)
}

func proxyKubeconfig(facts *inside.Facts) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: cluster
  cluster:
    server: https://%s
    certificate-authority: %s
users:
- name: kube-proxy
  user:
    tokenFile: %s
contexts:
- name: context
  context:
    cluster: cluster
    user: kube-proxy
current-context: context
`, net.JoinHostPort(facts.APIAddress, strconv.Itoa(int(facts.APIPort))), accountCA, accountToken)
}
