package inplace

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

// daemonPod runs the payload's machine-config-daemon on a node, whose root it changes; in the guest it acts as the node's own kubelet.
func daemonPod(pool, target string, node *corev1.Node, image string, proxy ignition.Proxy) *corev1.Pod {
	name := upgradeName(pool)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: daemonName(node.Name), Labels: map[string]string{targetLabel: target, poolLabel: pool}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: hostName(node)}, RestartPolicy: corev1.RestartPolicyOnFailure, HostNetwork: true, HostPID: true,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "machine-config-daemon", Image: image, Command: []string{"/usr/bin/machine-config-daemon"},
				Args: []string{"start", "--node-name=" + node.Name, "--root-mount=" + hostRoot, "--kubeconfig=/var/lib/kubelet/kubeconfig", "--desired-configmap=" + wantedDir},
				Env:  proxyEnvironment(proxy), SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				VolumeMounts: []corev1.VolumeMount{
					{Name: "rootfs", MountPath: hostRoot, MountPropagation: ptr.To(corev1.MountPropagationHostToContainer)},
					{Name: "desired-config", MountPath: hostRoot + wantedDir, ReadOnly: true},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "rootfs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
				{Name: "desired-config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
			},
		},
	}
}

// hostName is by which the node is selected.
func hostName(node *corev1.Node) string {
	if name := node.Labels[corev1.LabelHostname]; name != "" {
		return name
	}
	return node.Name
}

func proxyEnvironment(proxy ignition.Proxy) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, v := range []corev1.EnvVar{{Name: contract.HTTPProxyEnv, Value: proxy.HTTPProxy}, {Name: contract.HTTPSProxyEnv, Value: proxy.HTTPSProxy}, {Name: contract.NoProxyEnv, Value: proxy.NoProxy}} {
		if v.Value != "" {
			env = append(env, v)
		}
	}
	return env
}
