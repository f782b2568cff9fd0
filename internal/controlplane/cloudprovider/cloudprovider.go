// Package cloudprovider is Azure's cloud-controller-manager for the guest: load balancers of Services, and Nodes whose machine is gone.
package cloudprovider

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// Name of the component and its Deployment.
const Name = contract.AzureControllerManager

const (
	configName = contract.CloudConfig
	configKey  = contract.CloudConfigKey
	kubeconfig = "/etc/kubernetes/kubeconfig/kubeconfig"
)

// Account is the guest service account that the cloudProvider identity is federated with.
var Account = component.Token{Namespace: metav1.NamespaceSystem, ServiceAccount: access.CloudProviderAccount, Kubeconfig: pki.CloudControllerManager.Kubeconfig}

// Component is the cloud-controller-manager of platform Azure.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{Name},
		DependsOn: []string{contract.APIServer},
		Enabled:   func(ctx *component.Context) bool { return ctx.HCP.Spec.Platform.Azure != nil },
		// Two of them would undo each other's load balancers while a lease changes hands.
		Traits:  component.Traits{ReachesCloud: true, Recreate: true},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	own, err := Config(ctx.HCP, false)
	if err != nil {
		return nil, err
	}
	nodes, err := Config(ctx.HCP, true)
	if err != nil {
		return nil, err
	}
	return []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: configName}, Data: map[string][]byte{configKey: []byte(own)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configName}, Data: map[string]string{configKey: nodes}},
		component.CloudAccount(Name, ctx.HCP, ctx.HCP.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities.CloudProvider),
		deployment(ctx),
	}, nil
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{component.AccessProber(ctx.Settings.Image, "kubeconfig", access.CloudControllerAccess)},
			Containers: []corev1.Container{{
				Name: contract.CloudControllerManager, Image: ctx.Image(Name),
				Command:      append([]string{"/bin/azure-cloud-controller-manager"}, Args(ctx)...),
				Resources:    component.Requests("75m", "60Mi"),
				VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/kubernetes/kubeconfig"), component.Mount("cloud-config:/etc/cloud")},
			}},
			Volumes: []corev1.Volume{
				component.SecretVolume("kubeconfig", pki.CloudControllerManager.Kubeconfig), component.SecretVolume("cloud-config", configName),
			},
		}}},
	}
	component.AddTokenMinter(&d.Spec.Template.Spec, ctx.Settings.Image, Account)
	return d
}

// Args are the cloud controller manager's arguments.
func Args(ctx *component.Context) []string {
	return append(append([]string{
		"--cloud-config=/etc/cloud/" + configKey,
		"--cloud-provider=azure",
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		// The node half runs on the nodes themselves.
		"--controllers=*,-cloud-node",
		"--configure-cloud-routes=false", "--allocate-node-cidrs=false",
		"--bind-address=127.0.0.1",
		"--route-reconciliation-period=10s",
		"--use-service-account-credentials=false",
		"--leader-elect=true", "--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s",
		"--leader-elect-resource-namespace=" + contract.CloudControllerNamespace,
		"--cluster-name=" + ctx.HCP.Spec.InfraID,
	}, ctx.TLSProfile()...), "--v=4")
}
