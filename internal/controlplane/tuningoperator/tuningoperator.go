// Package tuningoperator is OpenShift's operator of the nodes' tuning. What node pools ask for it finds in ConfigMaps beside it.
package tuningoperator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and its payload image.
const Name = contract.TuningOperator

const (
	service     = contract.TuningService
	metricsPort = 60000
)

// Component is the cluster-node-tuning-operator.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{Name},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Enabled: func(ctx *component.Context) bool {
			return component.HasCapability(ctx.HCP, hyperv1.OptionalCapability("NodeTuning"))
		},
		Traits:  component.Traits{ManagementAccess: true},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	trusted := component.ConfigMapVolume("trusted-ca", contract.TrustedCA)
	trusted.ConfigMap.Optional = ptr.To(true)
	trusted.ConfigMap.Items = []corev1.KeyToPath{{Key: contract.CABundleKey, Path: "tls-ca-bundle.pem"}}
	d := component.NewDeployment(Name, corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: Name, Image: ctx.Image(Name), Command: []string{Name}, Args: []string{"-v=0"},
			Env: append(component.Environment(contract.ReleaseVersionEnv, ctx.GuestVersion, "HYPERSHIFT", "true",
				contract.WatchNamespaceEnv, contract.TuningNamespace, "RESYNC_PERIOD", "600",
				"CLUSTER_NODE_TUNED_IMAGE", ctx.GuestImage(Name), "KUBECONFIG", "/etc/kubernetes/kubeconfig"),
				component.FromField(contract.NamespaceEnv, "metadata.namespace"), component.FromField(contract.PodNameEnv, "metadata.name")),
			Ports:     []corev1.ContainerPort{component.TCPPort("metrics", metricsPort)},
			Resources: component.Requests("10m", "50Mi"),
			VolumeMounts: []corev1.VolumeMount{component.Mount("node-tuning-operator-tls:/etc/secrets"), component.Mount("metrics-client-ca:/tmp/metrics-client-ca"),
				component.Mount("trusted-ca:/var/run/configmaps/trusted-ca/"), component.Mount("hosted-kubeconfig:/etc/kubernetes")},
		}},
		Volumes: []corev1.Volume{component.SecretVolume("node-tuning-operator-tls", service+"-tls"), component.SecretVolume("metrics-client-ca", contract.MetricsClient),
			trusted, component.SecretVolume("hosted-kubeconfig", contract.ServiceKubeconfig)},
	})
	d.Spec.Template.Labels = map[string]string{"name": Name}
	d.Spec.Template.Annotations = component.ManagementWorkload()
	metrics := component.NewService(service, metricsPort, metricsPort)
	metrics.Labels = map[string]string{"name": service}
	metrics.Spec.Selector = map[string]string{"name": Name}
	metrics.Spec.Ports[0].Name = "metrics"
	rights := component.Access(Name, ctx.Namespace(), rbac.Rule("", rbac.All, "configmaps", "configmaps/finalizers", "events"))
	return append(rights, metrics, d), nil
}
