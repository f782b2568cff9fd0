// Package openshiftcontrollers has OpenShift's controllers beside those of Kubernetes: builds, deployments and image triggers; Routes of
// Ingresses; ranges of users and security labels of namespaces. The three of them share one form of configuration.
package openshiftcontrollers

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Names of the components and their Deployments.
const (
	ControllerManager = contract.OpenShiftControllerManager
	RouteManager      = contract.RouteManager
	PolicyController  = contract.PolicyController
)

const (
	routeImage   = contract.ImageRouteManager
	builderImage = "docker-builder"
	deployImage  = "deployer"

	port       = 8443
	policyPort = 10357
	certs      = "/etc/kubernetes/certs"
	clientCA   = "/etc/kubernetes/client-ca"
)

// manager is what the three differ in.
type manager struct {
	name, image string
	// guestNamespace is where in the guest the program has its lease.
	guestNamespace string
	requests       corev1.ResourceRequirements
	// serves: it has a Service and probes.
	serves bool
	images []string
	config func(*component.Context) (string, error)
}

// ControllerManagerComponent builds images, deploys, and triggers both.
func ControllerManagerComponent() component.Component {
	return manager{name: ControllerManager, image: ControllerManager, guestNamespace: ControllerManager, requests: component.Requests("100m", "100Mi"), serves: true,
		images: []string{builderImage, deployImage}, config: controllerManagerConfig}.component()
}

// RouteManagerComponent makes Routes of Ingresses.
func RouteManagerComponent() component.Component {
	return manager{name: RouteManager, image: routeImage, guestNamespace: RouteManager, requests: component.Requests("100m", "100Mi"), serves: true,
		config: routeManagerConfig}.component()
}

// PolicyControllerComponent gives namespaces their ranges of users and their security labels.
func PolicyControllerComponent() component.Component {
	return manager{name: PolicyController, image: PolicyController, guestNamespace: contract.ControllerManagerNamespace, requests: component.Requests("10m", "200Mi"),
		config: policyControllerConfig}.component()
}

func (m manager) component() component.Component {
	return component.Component{
		Name:      m.name,
		Kind:      release.KindOpenShift,
		ImageKeys: append([]string{m.image}, m.images...),
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Traits:    component.Traits{Replicas: 2, WaitFor: component.WaitForAPIServer},
		Objects:   m.objects,
	}
}

func (m manager) objects(ctx *component.Context) ([]client.Object, error) {
	config, err := m.config(ctx)
	if err != nil {
		return nil, err
	}
	objects := []client.Object{
		component.NewConfigMap(m.name+"-config", map[string]string{"config.yaml": config}),
		component.NewDeployment(m.name, m.pod(ctx)),
	}
	if m.serves {
		objects = append(objects, component.NewService(m.name, port, port))
	}
	return objects, nil
}

func (m manager) pod(ctx *component.Context) corev1.PodSpec {
	c := corev1.Container{
		Name: m.name, Image: ctx.Image(m.image), Command: []string{m.image},
		Args: append([]string{"start", "--config", "/etc/kubernetes/config/config.yaml"},
			ctx.Since(4, 20, "--kubeconfig", component.NetworkKubeconfig, "--namespace="+m.guestNamespace)...),
		Env: []corev1.EnvVar{{Name: contract.PodNamespaceEnv, Value: m.guestNamespace}}, Resources: m.requests,
		VolumeMounts: []corev1.VolumeMount{component.Mount("client-ca:" + clientCA), component.Mount("config:/etc/kubernetes/config"),
			component.Mount("serving-cert:" + certs), component.NetworkKubeconfigMount()},
	}
	if m.serves {
		c.Env = append(c.Env, component.FromField(contract.PodNameEnv, "metadata.name"))
		c.Ports = []corev1.ContainerPort{component.TCPPort("https", port)}
		c.LivenessProbe = component.After(30, component.HTTPSProbe("/healthz", port, 10, 5, 3))
		c.ReadinessProbe = component.HTTPSProbe("/healthz", port, 10, 5, 10)
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{c},
		Volumes: []corev1.Volume{component.ConfigMapVolume("client-ca", contract.ClientCA), component.ConfigMapVolume("config", m.name+"-config"),
			component.SecretVolume("serving-cert", m.name+"-cert"), component.NetworkKubeconfigVolume()},
	}
}
