package addons

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// flannel gives pods of all nodes one network, over VXLAN.
func flannel(facts *inside.Facts) []client.Object {
	image := facts.Images["flannel"]
	install := func(name, script string, mounts ...corev1.VolumeMount) corev1.Container {
		return corev1.Container{Name: name, Image: image, Command: []string{"/bin/sh", "-c", script}, VolumeMounts: mounts, Resources: requests("10m", "16Mi"), SecurityContext: unprivileged()}
	}
	pod := corev1.PodSpec{
		InitContainers: []corev1.Container{
			install("install-plugin", "cp /cni/flannel /opt/cni/bin/flannel.new && mv /opt/cni/bin/flannel.new /opt/cni/bin/flannel", mount("plugins", "/opt/cni/bin")),
		},
		Containers: []corev1.Container{{
			Name: inside.FlannelName, Image: image,
			// The network configuration of the runtime appears last: a node is not Ready before its pods can have a network.
			Command: []string{"/bin/sh", "-c",
				"(until [ -s /run/flannel/subnet.env ]; do sleep 0.2; done; cp /etc/kube-flannel/cni-conf.json /etc/cni/net.d/.flannel.new && mv /etc/cni/net.d/.flannel.new /etc/cni/net.d/10-flannel.conflist) & " +
					"exec /bin/flanneld --ip-masq --kube-subnet-mgr"},
			Env:             append(apiEnv(facts), fieldEnv(contract.PodNameEnv, "metadata.name"), fieldEnv(contract.PodNamespaceEnv, "metadata.namespace"), fieldEnv(contract.NodeNameEnv, "spec.nodeName")),
			Resources:       requests("20m", "50Mi"),
			VolumeMounts:    []corev1.VolumeMount{mount("run", "/run/flannel"), mount("conf", "/etc/cni/net.d"), readOnly("config", "/etc/kube-flannel")},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
		}},
		Volumes: []corev1.Volume{
			hostPath("run", "/run/flannel"), hostPath("plugins", "/opt/cni/bin"), hostPath("conf", "/etc/cni/net.d"), configVolume("config", inside.FlannelName),
		},
	}
	return []client.Object{
		access.ServiceAccount(inside.FlannelName),
		access.ClusterRole("hypershift:flannel",
			rbac.Rule("", "get", "pods"),
			rbac.Rule("", rbac.Read, "nodes"),
			rbac.Rule("", "patch", "nodes/status"),
		),
		access.Bind("hypershift:flannel", "hypershift:flannel", access.Account(inside.FlannelName)),
		configMap(inside.FlannelName, map[string]string{"cni-conf.json": flannelCNI, "net-conf.json": flannelNetwork(facts.PodCIDR)}),
		daemonSet(inside.FlannelName, pod),
	}
}

const flannelCNI = `{
  "name": "cbr0",
  "cniVersion": "1.0.0",
  "plugins": [
    {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

func flannelNetwork(podCIDR string) string {
	encoded, err := json.Marshal(map[string]any{
		"Network": podCIDR, "EnableNFTables": true, "Backend": map[string]any{"Type": "vxlan"},
	})
	if err != nil { // strings and booleans always encode
		panic(err)
	}
	return string(encoded)
}

// networkPlugin is that of the payload, unless the user brings one.
func networkPlugin(facts *inside.Facts) []client.Object {
	if facts.OwnNetwork {
		return nil
	}
	return flannel(facts)
}
