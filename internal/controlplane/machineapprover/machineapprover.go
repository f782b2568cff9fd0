// Package machineapprover approves the certificate requests of machines that really exist.
package machineapprover

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// Name of the component and its Deployment.
const Name = contract.MachineApprover

// Component is the machine approver of the control-plane-operator's image.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		DependsOn: []string{contract.APIServer},
		Enabled: func(ctx *component.Context) bool {
			_, disabled := ctx.HCP.Annotations[hyperv1.DisableMachineManagementAnnotation]
			return !disabled
		},
		Traits:  component.Traits{ManagementAccess: true, Recreate: true},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	rights := component.Access(Name, ctx.Namespace(),
		rbac.Rule("cluster.x-k8s.io", "list,watch", "machines"),
	)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{component.AccessProber(ctx.Settings.Image, "kubeconfig", access.MachineApproverAccess)},
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Settings.Image,
				Command: []string{component.Binary, Name,
					"--namespace=" + ctx.Namespace(), "--kubeconfig=/etc/kubernetes/kubeconfig/kubeconfig"},
				Resources:    component.Requests("10m", "50Mi"),
				VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/kubernetes/kubeconfig")},
			}},
			Volumes: []corev1.Volume{component.SecretVolume("kubeconfig", pki.MachineApprover.Kubeconfig)},
		}}},
	}
	return append(rights, d), nil
}
