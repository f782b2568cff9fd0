// Package networkoperator is OpenShift's operator of the guest's network: half of what it makes runs beside the control plane.
package networkoperator

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and its payload image.
const Name = contract.NetworkOperator

// Images of operands that run beside the control plane.
const (
	ovnImage         = contract.ImageOVN
	multusImage      = contract.ImageMultus
	cloudConfigImage = contract.ImageCloudNetworkConfig
)

const (
	namespace  = contract.NetworkOperatorNamespace
	tokenDir   = "/var/client-token"
	guestToken = "/var/run/secrets/kubernetes.io/hosted"

	// endFormer deletes the operator of a guest that ran its own.
	endFormer = `oc --kubeconfig=/etc/hosted-kubernetes/kubeconfig --namespace=` + namespace + ` delete --ignore-not-found=true deployment network-operator`

	// writeConfigs makes the two kubeconfigs that the operator works with: tokens stay files, because they are renewed.
	writeConfigs = `set -euo pipefail
write() {
  cat >"$1" <<CONFIG
apiVersion: v1
kind: Config
clusters:
- name: default
  cluster: {server: "$2", certificate-authority: "$3"}
users:
- name: admin
  user: {tokenFile: "$4"}
contexts:
- name: default
  context: {cluster: default, user: admin, namespace: "$5"}
current-context: default
CONFIG
}
host=$KUBERNETES_SERVICE_HOST
case $host in *:*) host="[$host]" ;; esac
account=/var/run/secrets/kubernetes.io/serviceaccount
write /configs/management "https://$host:$KUBERNETES_SERVICE_PORT" $account/ca.crt $account/token "$(cat $account/namespace)"
write /configs/hosted "https://kube-apiserver:${KUBE_APISERVER_SERVICE_PORT:-6443}" /etc/certificate/ca/ca.crt ` + guestToken + `/token ` + namespace + `
`
)

// account is the operator's in the guest.
var account = component.Token{Namespace: namespace, ServiceAccount: Name, Kubeconfig: contract.ServiceKubeconfig}

// Component is the cluster-network-operator; nodes reach the API server where endpoints have it.
func Component(endpoints publish.Endpoints) component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{Name, component.ToolsImage, ovnImage, multusImage, cloudConfigImage},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Traits:    component.Traits{ManagementAccess: true, Recreate: true},
		Operands:  operands,
		Objects: func(ctx *component.Context) ([]client.Object, error) {
			if !publish.PlanOf(ctx.HCP).Private() && !endpoints.APIServer.Known() {
				return nil, &component.WaitingError{For: errors.New("waits for the address of the API server, which nodes are told")}
			}
			d := component.NewDeployment(Name, pod(ctx, endpoints))
			d.Spec.Template.Labels = map[string]string{"name": Name}
			d.Spec.Template.Annotations = component.ManagementWorkload()
			return append(component.Access(Name, ctx.Namespace(), rules(ctx.HCP)...), d), nil
		},
	}
}

func operands(ctx *component.Context) []component.Operand {
	var out []component.Operand
	if brings(ctx.HCP) {
		out = append(out, component.Operand{Deployment: "ovnkube-control-plane", Container: "ovnkube-control-plane", ImageKey: ovnImage},
			component.Operand{Deployment: contract.NetworkNodeIdentity, Container: "approver", ImageKey: ovnImage})
		if ctx.HCP.Spec.Platform.Type == hyperv1.AzurePlatform {
			out = append(out, component.Operand{Deployment: cloudConfigImage, Container: "controller", ImageKey: cloudConfigImage})
		}
	}
	if !leavesMultusOut(ctx.HCP) {
		out = append(out, component.Operand{Deployment: multusImage, Container: multusImage, ImageKey: multusImage})
	}
	return out
}

// brings tells whether the operator makes the guest's network itself.
func brings(hcp *hyperv1.HostedControlPlane) bool {
	return hcp.Spec.Networking.NetworkType == hyperv1.OVNKubernetes
}

func leavesMultusOut(hcp *hyperv1.HostedControlPlane) bool {
	c := hcp.Spec.OperatorConfiguration
	return c != nil && c.ClusterNetworkOperator != nil && c.ClusterNetworkOperator.DisableMultiNetwork != nil && *c.ClusterNetworkOperator.DisableMultiNetwork
}

func pod(ctx *component.Context, endpoints publish.Endpoints) corev1.PodSpec {
	token := corev1.VolumeMount{Name: "client-token", MountPath: tokenDir}
	memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	once, keep := minter(ctx, "init-client-token-minter", token), minter(ctx, "client-token-minter", token)
	once.Command = append(once.Command, "--oneshot")
	once.Resources = component.Requests("10m", "10Mi")
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{
			{
				Name: "remove-old-cno", Image: ctx.Image(component.ToolsImage), Command: []string{"/bin/bash", "-c", endFormer},
				Resources: component.Requests("10m", "50Mi"), VolumeMounts: []corev1.VolumeMount{component.Mount("hosted-etc-kube:/etc/hosted-kubernetes")},
			},
			once,
			{
				Name: "rewrite-config", Image: ctx.Image(component.ToolsImage), Command: []string{"/bin/bash", "-c", writeConfigs},
				Resources: component.Requests("10m", "50Mi"), VolumeMounts: []corev1.VolumeMount{{Name: "configs", MountPath: "/configs"}},
			},
		},
		Containers: []corev1.Container{
			{
				Name: Name, Image: ctx.Image(Name),
				Command: []string{"/usr/bin/cluster-network-operator", "start", "--listen=0.0.0.0:9104", "--kubeconfig=/configs/hosted",
					"--namespace=" + namespace, "--extra-clusters=management=/configs/management"},
				Env: environment(ctx, endpoints), Resources: component.Requests("10m", "100Mi"),
				VolumeMounts: []corev1.VolumeMount{component.Mount("configs:/configs"), component.Mount("client-token:" + guestToken),
					component.Mount("certificate-ca:/etc/certificate/ca")},
			},
			keep,
		},
		Volumes: []corev1.Volume{component.EmptyDirVolume("configs"), {Name: "client-token", VolumeSource: memory},
			component.SecretVolume("certificate-ca", contract.RootCA), component.SecretVolume("hosted-etc-kube", contract.ServiceKubeconfig)},
	}
	// Only the certificate: the authority's key is nobody's.
	spec.Volumes[2].Secret.Items = []corev1.KeyToPath{{Key: contract.CAKey, Path: contract.CAKey}}
	component.AddSOCKSProxy(ctx, &spec, component.TunnelProxy{Kubeconfig: "hosted-etc-kube", Flags: []string{"--disable-resolver=true"}})
	prober := component.AddAPIProber(&spec, ctx.Settings.Image, "hosted-etc-kube", "operator.openshift.io,v1,Network",
		"network.operator.openshift.io,v1,EgressRouter", "network.operator.openshift.io,v1,OperatorPKI")
	prober.Command = append(prober.Command, component.WaitForBinding+Name, component.WaitForInfrastructure)
	return spec
}

// minter keeps the operator's token of the guest in a file.
func minter(ctx *component.Context, name string, token corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: name, Image: ctx.Settings.Image, Resources: component.Requests("10m", "30Mi"),
		Command: []string{component.Binary, contract.CommandTokenMinter, "--service-account-namespace=" + account.Namespace, "--service-account-name=" + account.ServiceAccount,
			"--token-audience=" + ctx.HCP.Spec.IssuerURL, "--token-file=" + tokenDir + "/token", "--kubeconfig=/etc/kubernetes/kubeconfig"},
		VolumeMounts: []corev1.VolumeMount{token, component.Mount("hosted-etc-kube:/etc/kubernetes")},
	}
}
