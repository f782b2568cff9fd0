// Package dnsoperator is OpenShift's operator of the guest's DNS.
package dnsoperator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component and its Deployment.
const Name = contract.DNSOperator

const image = contract.ImageDNSOperator

// Component is the dns-operator.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{image},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](2),
		Containers: []corev1.Container{{
			Name: Name, Image: ctx.Image(image), Command: []string{Name},
			Env: component.Environment(contract.ReleaseVersionEnv, ctx.GuestVersion, "IMAGE", ctx.GuestImage("coredns"),
				"OPENSHIFT_CLI_IMAGE", ctx.GuestImage(component.ToolsImage), contract.RBACProxyImageEnv, ctx.GuestImage(contract.ImageRBACProxy),
				"KUBECONFIG", "/etc/kubernetes/kubeconfig"),
			Resources:    component.Requests("10m", "29Mi"),
			VolumeMounts: []corev1.VolumeMount{component.Mount("service-account-kubeconfig:/etc/kubernetes")},
		}},
		Volumes: []corev1.Volume{component.SecretVolume("service-account-kubeconfig", pki.DNSOperator.Kubeconfig)},
	}
	prober := component.AddAPIProber(&spec, ctx.Settings.Image, "service-account-kubeconfig", "operator.openshift.io,v1,DNS")
	prober.Command = append(prober.Command, component.WaitForPodsGone+pki.DNSOperator.Namespace+"/name="+Name)
	d := component.NewDeployment(Name, spec)
	d.Spec.Template.Labels = map[string]string{"name": Name}
	return []client.Object{d}, nil
}
