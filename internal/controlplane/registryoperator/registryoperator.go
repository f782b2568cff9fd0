// Package registryoperator is OpenShift's operator of the guest's image registry.
package registryoperator

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment, the Secret of its certificate and its payload image.
const Name = contract.RegistryOperator

const (
	namespace  = contract.RegistryNamespace
	configMap  = contract.RegistryConfig
	configFile = "/var/run/configmaps/" + configMap + "/config.yaml"
	accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

	// start makes what programs take for the cluster that they run in the guest, and waits until it knows the operator.
	start = `set -euo pipefail
cd ` + accountDir + `
until [ -s token ]; do sleep 1; done
printf %s ` + namespace + ` >namespace
cp /etc/certificate/ca/ca.crt ca.crt
export KUBERNETES_SERVICE_HOST=kube-apiserver KUBERNETES_SERVICE_PORT="${KUBE_APISERVER_SERVICE_PORT:-6443}"
until curl --fail --silent --output /dev/null --cacert ca.crt --header "Authorization: Bearer $(cat token)" \
  "https://kube-apiserver:$KUBERNETES_SERVICE_PORT/apis/config.openshift.io/v1/featuregates"; do sleep 1; done
exec /usr/bin/cluster-image-registry-operator --files=/etc/secrets/tls.crt --files=/etc/secrets/tls.key "$@"
`
)

var account = component.Token{Namespace: namespace, ServiceAccount: Name, Kubeconfig: contract.ServiceKubeconfig}

// Component is the cluster-image-registry-operator.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{Name},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Enabled: func(ctx *component.Context) bool {
			return component.HasCapability(ctx.HCP, hyperv1.OptionalCapability("ImageRegistry"))
		},
		Traits:  component.Traits{Recreate: true, ReachesCloud: true, WaitFor: component.WaitForAPIServer},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	d := component.NewDeployment(Name, pod(ctx))
	d.Spec.Template.Labels = map[string]string{"name": Name}
	if !ctx.AtLeast(4, 22) {
		return []client.Object{d}, nil // it serves as it was built to
	}
	config, err := ctx.GenericControllerConfig(":60000")
	if err != nil {
		return nil, err
	}
	spec := &d.Spec.Template.Spec
	spec.Volumes = append(spec.Volumes, component.ConfigMapVolume("config", configMap))
	spec.Containers[0].Args = []string{"--config=" + configFile, "--files=" + configFile}
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, component.Mount("config:/var/run/configmaps/"+configMap))
	return []client.Object{component.NewConfigMap(configMap, map[string]string{"config.yaml": config}), d}, nil
}

func pod(ctx *component.Context) corev1.PodSpec {
	memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: Name, Image: ctx.Image(Name), Command: []string{"/bin/bash", "-c", start, Name},
			Env: component.Environment(contract.ReleaseVersionEnv, ctx.GuestVersion, contract.OperatorImageVersionEnv, ctx.GuestVersion,
				contract.WatchNamespaceEnv, namespace, contract.OperatorNameEnv, Name, "OPERATOR_IMAGE", ctx.Image(Name),
				"IMAGE", ctx.GuestImage(contract.ImageRegistry), "IMAGE_PRUNER", ctx.GuestImage(component.ToolsImage),
				"AZURE_ENVIRONMENT_FILEPATH", "/tmp/azurestackcloud.json"),
			Ports:     []corev1.ContainerPort{component.TCPPort("metrics", 60000)},
			Resources: component.Requests("10m", "50Mi"),
			VolumeMounts: []corev1.VolumeMount{{Name: "apiserver-token", MountPath: accountDir}, component.Mount("ca:/etc/certificate/ca"),
				component.Mount("serving-cert:/etc/secrets")},
		}},
		Volumes: []corev1.Volume{component.SecretVolume("ca", contract.RootCA), component.SecretVolume("serving-cert", Name),
			{Name: "apiserver-token", VolumeSource: memory}},
	}
	// Only the certificate: the authority's key is nobody's.
	spec.Volumes[0].Secret.Items = []corev1.KeyToPath{{Key: contract.CAKey, Path: contract.CAKey}}
	component.AddTokenMinter(&spec, ctx.Settings.Image, account)
	inGuest := account
	inGuest.Audience = ctx.HCP.Spec.IssuerURL
	minter := component.TokenMinter(ctx.Settings.Image, inGuest)
	minter.Name, minter.VolumeMounts[0].Name = "apiserver-token-minter", "apiserver-token"
	spec.InitContainers = append(spec.InitContainers, minter)
	return spec
}
