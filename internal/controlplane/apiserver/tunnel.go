package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	tunnelClientVolume = contract.KonnectivityClient
	tunnelCAVolume     = "konnectivity-ca"
	proberTunnelDir    = "/etc/availability-prober/tunnel"
	tunnelHealthPort   = 2041
)

// addTunnel puts the konnectivity server beside the API server: a side-car, so that it is there before the API server, whose first
// request may go through the tunnel, and as long as the last one. The API server waits for etcd, until the server of its pod
// listens, and until agents have found it: it takes over from one that has agents.
func addTunnel(ctx *component.Context, pod *corev1.PodSpec) {
	// Each API server uses the konnectivity server of its own pod: no DNS, and no detour through the Service.
	pod.HostAliases = append(pod.HostAliases, corev1.HostAlias{IP: "127.0.0.1", Hostnames: []string{publish.KonnectivityLocalService}})
	pod.InitContainers = append(pod.InitContainers, konnectivityServer(ctx))
	prober := component.AddAvailabilityProber(pod, ctx.Settings.Image, component.WaitForEtcd)
	prober.Command = append(prober.Command,
		fmt.Sprintf("--tunnel=localhost:%d", publish.KonnectivityLocalPort),
		fmt.Sprintf("--tunnel-of-others=%s.%s.svc:%d", publish.KonnectivityLocalService, ctx.Namespace(), publish.KonnectivityLocalPort),
		"--tunnel-ca-file="+proberTunnelDir+"/ca/ca.crt",
		"--tunnel-cert-file="+proberTunnelDir+"/client/tls.crt", "--tunnel-key-file="+proberTunnelDir+"/client/tls.key")
	prober.VolumeMounts = append(prober.VolumeMounts,
		component.Mount(tunnelCAVolume+":"+proberTunnelDir+"/ca"), component.Mount(tunnelClientVolume+":"+proberTunnelDir+"/client"))
}

func konnectivityServer(ctx *component.Context) corev1.Container {
	image := ctx.HCP.Annotations[hyperv1.KonnectivityServerImageAnnotation]
	if image == "" {
		image = ctx.Image(contract.ImageKonnectivity)
	}
	return corev1.Container{
		Name: "konnectivity-server", Image: image,
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Command: []string{"/bin/proxy-server",
			"--mode=http-connect",
			fmt.Sprintf("--server-port=%d", publish.KonnectivityLocalPort), fmt.Sprintf("--agent-port=%d", publish.KonnectivityPort),
			fmt.Sprintf("--health-port=%d", tunnelHealthPort), "--admin-port=8093",
			"--server-cert=/etc/konnectivity/server/tls.crt", "--server-key=/etc/konnectivity/server/tls.key",
			"--server-ca-cert=/etc/konnectivity/ca/ca.crt",
			"--cluster-cert=/etc/konnectivity/cluster/tls.crt", "--cluster-key=/etc/konnectivity/cluster/tls.key",
			"--cluster-ca-cert=/etc/konnectivity/ca/ca.crt",
			"--proxy-strategies=destHost,defaultRoute",
			"--keepalive-time=30s", "--frontend-keepalive-time=30s",
			fmt.Sprintf("--server-count=%d", traits.ReplicasOf(ctx.HCP)),
			"--cipher-suites=" + component.CipherSuites,
			// Not the program's own 4: agents look for servers all the time, and each attempt would be six lines.
			"-v=1",
		},
		Ports: []corev1.ContainerPort{
			{Name: "server", ContainerPort: publish.KonnectivityLocalPort, Protocol: corev1.ProtocolTCP},
			{Name: "agent", ContainerPort: publish.KonnectivityPort, Protocol: corev1.ProtocolTCP},
			{Name: "tunnel-health", ContainerPort: tunnelHealthPort, Protocol: corev1.ProtocolTCP},
		},
		// No probe holds the API server back: the prober waits until this listens, while it waits for etcd. Ready means to it that an agent is
		// connected, which nobody must wait for: no agent comes before the API server and the first node.
		LivenessProbe: &corev1.Probe{PeriodSeconds: 30, TimeoutSeconds: 30, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(tunnelHealthPort), Scheme: corev1.URISchemeHTTP}}},
		Resources: component.Requests("10m", "50Mi"),
		VolumeMounts: []corev1.VolumeMount{
			component.Mount("konnectivity-server:/etc/konnectivity/server"), component.Mount("konnectivity-cluster:/etc/konnectivity/cluster"),
			component.Mount(tunnelCAVolume + ":/etc/konnectivity/ca"),
		},
	}
}
