// Package controllermanager is the hosted kube-controller-manager.
package controllermanager

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Name of the component and its Deployment.
const Name = contract.ControllerManager

const (
	port       = 10257
	kubeconfig = "/etc/kubernetes/kubeconfig/kubeconfig"
)

// Component is kube-controller-manager.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{"hyperkube"},
		DependsOn: []string{contract.APIServer},
		Traits:    component.Traits{Replicas: 2, WaitFor: component.WaitForAPIServer},
		Reloads:   component.Names(contract.ControllerManagerCertificate, contract.CSRSigner),
		Objects: func(ctx *component.Context) ([]client.Object, error) {
			gates, err := ctx.FeatureGateFlags()
			if err != nil {
				return nil, err
			}
			return []client.Object{deployment(ctx, gates)}, nil
		},
	}
}

func deployment(ctx *component.Context, gates []string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Image("hyperkube"),
				Command:        slices.Concat([]string{"/bin/kube-controller-manager"}, Args(ctx), gates),
				Ports:          []corev1.ContainerPort{{Name: "client", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
				Resources:      component.Requests("100m", "600Mi"),
				StartupProbe:   component.HTTPSProbe("/healthz", port, 1, 10, 120),
				LivenessProbe:  component.HTTPSProbe("/healthz", port, 10, 10, 3),
				ReadinessProbe: component.HTTPSProbe("/healthz", port, 10, 10, 3),
				VolumeMounts: []corev1.VolumeMount{
					component.Mount("kubeconfig:/etc/kubernetes/kubeconfig"), component.Mount("server:/etc/kubernetes/certs/server"),
					component.Mount("signer:/etc/kubernetes/certs/signer"), component.Mount("root-ca:/etc/kubernetes/certs/root-ca"),
					component.Mount("service-account-key:/etc/kubernetes/certs/service-account"),
				},
			}},
			Volumes: []corev1.Volume{
				component.SecretVolume("kubeconfig", contract.ControllerManagerKubeconfig), component.SecretVolume("server", contract.ControllerManagerCertificate),
				component.SecretVolume("signer", contract.CSRSigner), component.ConfigMapVolume("root-ca", contract.RootCA),
				component.SecretVolume("service-account-key", contract.SigningKey),
			},
		}}},
	}
}

// Args are kube-controller-manager's arguments.
func Args(ctx *component.Context) []string {
	networking := ctx.HCP.Spec.Networking
	var clusterCIDRs, serviceCIDRs []string
	for _, n := range networking.ClusterNetwork {
		clusterCIDRs = append(clusterCIDRs, string(n.CIDR))
	}
	for _, n := range networking.ServiceNetwork {
		serviceCIDRs = append(serviceCIDRs, string(n.CIDR))
	}
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		fmt.Sprintf("--allocate-node-cidrs=%t", allocatesNodeCIDRs(ctx)),
		"--cluster-cidr=" + strings.Join(clusterCIDRs, ","),
		"--service-cluster-ip-range=" + strings.Join(serviceCIDRs, ","),
		"--cloud-provider=external",
		"--cluster-signing-cert-file=/etc/kubernetes/certs/signer/ca.crt",
		"--cluster-signing-key-file=/etc/kubernetes/certs/signer/ca.key",
		"--cluster-signing-duration=17520h",
		"--controllers=*,-ttl,-bootstrapsigner,-tokencleaner,selinux-warning-controller",
		"--root-ca-file=/etc/kubernetes/certs/root-ca/ca.crt",
		"--service-account-private-key-file=/etc/kubernetes/certs/service-account/service-account.key",
		"--use-service-account-credentials=true",
		"--kube-api-qps=150", "--kube-api-burst=300",
		"--leader-elect=true", "--leader-elect-renew-deadline=12s", "--leader-elect-retry-period=3s",
		"--node-monitor-grace-period=50s",
		"--terminated-pod-gc-threshold=1000", "--concurrent-gc-syncs=5",
		fmt.Sprintf("--secure-port=%d", port),
		fmt.Sprintf("--profiling=%t", !component.ProfilingDisabled(ctx.HCP, Name)),
		"--v=2",
	}
	args = append(args, nodeRanges(networking.ClusterNetwork)...)
	return append(args, ctx.TLSFlags("/etc/kubernetes/certs/server")...)
}

// nodeRanges are the sizes of nodes' shares that the user chose.
func nodeRanges(networks []hyperv1.ClusterNetworkEntry) []string {
	var args []string
	for _, network := range networks {
		if network.HostPrefix == 0 {
			continue
		}
		flag := "--node-cidr-mask-size"
		if len(networks) > 1 {
			flag += "-ipv4"
			if prefix, err := netip.ParsePrefix(string(network.CIDR)); err == nil && prefix.Addr().Is6() {
				flag = "--node-cidr-mask-size-ipv6"
			}
		}
		args = append(args, fmt.Sprintf("%s=%d", flag, network.HostPrefix))
	}
	return args
}

// allocatesNodeCIDRs: when asked to, and when the payload's own network plugin is one that reads the node's range. A user who brings
// a plugin can say that it does not.
func allocatesNodeCIDRs(ctx *component.Context) bool {
	mode := ctx.HCP.Spec.Networking.AllocateNodeCIDRs
	if mode != nil && (*mode == hyperv1.AllocateNodeCIDRsEnabled || component.OwnNetwork(ctx.HCP)) {
		return *mode == hyperv1.AllocateNodeCIDRsEnabled
	}
	return ctx.Images[contract.NetworkOperator] == "" && ctx.Images["flannel"] != ""
}
