package etcd

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	// begunConfigMap has begunKey once the cluster has data. It is read by a member that has none.
	begunConfigMap = "etcd-cluster"
	begunKey       = "begun"
	begunDir       = "/etc/etcd/cluster"

	serverCertFile, serverKeyFile = "/etc/etcd/tls/server/server.crt", "/etc/etcd/tls/server/server.key"
	peerCertFile, peerKeyFile     = "/etc/etcd/tls/peer/peer.crt", "/etc/etcd/tls/peer/peer.key"
	authorityFile                 = "/etc/etcd/tls/ca/ca.crt"

	quotaArg = "--quota-backend-bytes=8589934592"
)

// addMembership lets the members of a highly available etcd find each other. A single member needs none of it.
func addMembership(ctx *component.Context, pod *corev1.PodSpec) []client.Object {
	if !ctx.HighlyAvailable() {
		return nil
	}
	pod.InitContainers = append(pod.InitContainers, dnsWaiter(ctx), memberResetter(ctx))
	pod.Volumes = append(pod.Volumes, component.ConfigMapVolume("cluster", begunConfigMap))
	begun := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: begunConfigMap}}
	if ctx.HCP.Status.Initialized {
		begun.Data = map[string]string{begunKey: "true"}
	}
	return []client.Object{begun}
}

// dnsWaiter ends when the pod's name leads to it: the others compare a peer's address with its name.
func dnsWaiter(ctx *component.Context) corev1.Container {
	return corev1.Container{
		Name: "ensure-dns", Image: ctx.Settings.Image,
		Command:   []string{component.Binary, contract.CommandResolveDNS, "--name=$(POD_NAME)." + discoveryService + ".$(NAMESPACE).svc", "--address=$(POD_IP)"},
		Env:       memberEnv(),
		Resources: component.Requests("10m", "10Mi"),
	}
}

func memberResetter(ctx *component.Context) corev1.Container {
	args := append([]string{helperBinary, contract.CommandResetMember}, memberArgs(ctx)...)
	return corev1.Container{
		Name: "reset-member", Image: ctx.Settings.Image,
		Command: append(args, advertiseArg(), listenPeersArg(), quotaArg,
			"--endpoints="+strings.Join(clientURLs(ctx), ","), "--begun-file="+begunDir+"/"+begunKey,
			"--trusted-ca-file="+authorityFile, "--cert-file="+serverCertFile, "--key-file="+serverKeyFile,
			"--peer-cert-file="+peerCertFile, "--peer-key-file="+peerKeyFile),
		Env:       memberEnv(),
		Resources: component.Requests("10m", "50Mi"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "data", MountPath: dataDir}, component.Mount("cluster:" + begunDir),
			component.Mount("server-tls:/etc/etcd/tls/server"), component.Mount("peer-tls:/etc/etcd/tls/peer"), component.Mount("ca:/etc/etcd/tls/ca"),
		},
	}
}

func advertiseArg() string {
	return fmt.Sprintf("--advertise-client-urls=https://$(POD_NAME).%s.$(NAMESPACE).svc:%d", discoveryService, clientPort)
}

func listenPeersArg() string { return fmt.Sprintf("--listen-peer-urls=https://$(POD_IP):%d", peerPort) }

// clientURLs of all members.
func clientURLs(ctx *component.Context) []string {
	var urls []string
	for i := range memberCount(ctx) {
		urls = append(urls, fmt.Sprintf("https://%s-%d.%s.%s.svc:%d", Name, i, discoveryService, ctx.Namespace(), clientPort))
	}
	return urls
}

func memberCount(ctx *component.Context) int32 {
	return component.Traits{Replicas: members}.ReplicasOf(ctx.HCP)
}
