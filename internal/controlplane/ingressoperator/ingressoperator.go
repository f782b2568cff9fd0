// Package ingressoperator keeps the records of the guest's applications, where the payload has a router and no operator for it.
package ingressoperator

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/ingressdns"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component and its Deployment.
const Name = ingressdns.Name

const (
	// routerImage is the router that the config operator puts into the guest.
	routerImage = "skipper"
)

// Account is the guest service account that the ingress identity is federated with.
var Account = component.Token{Namespace: contract.IngressOperatorNamespace, ServiceAccount: contract.IngressOperator, Kubeconfig: contract.ServiceKubeconfig}

// Component is the ingress operator of the control-plane-operator's image.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindKubernetes,
		DependsOn: []string{contract.APIServer},
		Enabled:   enabled,
		// Its container talks to the management API, and to Azure.
		Traits:  component.Traits{ManagementAccess: true, ReachesCloud: true, Recreate: true, WaitFor: component.WaitForAPIServer},
		Objects: objects,
	}
}

func enabled(ctx *component.Context) bool {
	spec := ctx.HCP.Spec
	disabled := spec.Capabilities != nil && slices.Contains(spec.Capabilities.Disabled, hyperv1.OptionalCapability("Ingress"))
	azure := spec.Platform.Azure
	return !disabled && ctx.Image(routerImage) != "" &&
		azure != nil && azure.AzureAuthenticationConfig.WorkloadIdentities != nil
}

func objects(ctx *component.Context) ([]client.Object, error) {
	records := rbac.Named(rbac.Rule("", "get,patch", "configmaps"), ingressdns.StateConfigMap)
	access := component.Access(Name, ctx.Namespace(), records,
		rbac.Rule("hypershift.openshift.io", "list,watch,patch", "hostedcontrolplanes"),
		rbac.Rule("hypershift.openshift.io", "update", "hostedcontrolplanes/status"),
	)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Settings.Image,
				Command:      []string{component.Binary, Name, "--namespace=" + ctx.Namespace(), "--kubeconfig=/etc/kubernetes/kubeconfig/kubeconfig"},
				Ports:        []corev1.ContainerPort{{Name: "metrics", ContainerPort: 60000, Protocol: corev1.ProtocolTCP}},
				Resources:    component.Requests("10m", "80Mi"),
				VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/kubernetes/kubeconfig")},
			}},
			Volumes: []corev1.Volume{component.SecretVolume("kubeconfig", contract.ServiceKubeconfig)},
		}}},
	}
	component.AddTokenMinter(&d.Spec.Template.Spec, ctx.Settings.Image, Account)
	// What the operator wrote is its own; the object is there so that it needs no right to make any.
	return append(access, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ingressdns.StateConfigMap}}, d), nil
}
