// Package lifecyclemanager has the programs of OpenShift's Operator Lifecycle Manager: what installs operators, what resolves them from
// catalogs, and the aggregated API server of their packages.
package lifecyclemanager

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

// Names of the components and their Deployments.
const (
	Operator = "olm-operator"
	Catalog  = "catalog-operator"
	Packages = contract.PackageServer
)

const (
	image         = contract.ImageLifecycleManager
	registryImage = contract.ImageOperatorRegistry
	kubeconfig    = "/etc/openshift/kubeconfig/kubeconfig"
	marketplace   = contract.MarketplaceNamespace

	// Kinds that the programs work with: the version operator brings them.
	group      = "operators.coreos.com,"
	catalogAPI = group + "v1alpha1,CatalogSource"

	metricsPort  = 8443
	packagesPort = 5443
)

// OperatorComponent is the olm-operator.
func OperatorComponent() component.Component {
	return of(Operator, component.Traits{}, nil, func(ctx *component.Context) ([]client.Object, error) {
		c := corev1.Container{
			Command: []string{"/bin/olm"},
			Args: append([]string{"--namespace", "$(OPERATOR_NAMESPACE)", "--writeStatusName", image, "--writePackageServerStatusName="},
				tlsArgs()...),
			Env:       append([]corev1.EnvVar{component.FromField("OPERATOR_NAMESPACE", "metadata.namespace")}, component.Environment(contract.OperatorNameEnv, Operator, contract.ReleaseVersionEnv, ctx.GuestVersion, "KUBECONFIG", kubeconfig)...),
			Resources: component.Requests("10m", "160Mi"),
		}
		d, service := metered(ctx, Operator, c, catalogAPI, group+"v1alpha1,Subscription", group+"v2,OperatorCondition", group+"v1,OperatorGroup", group+"v1,OLMConfig")
		return []client.Object{d, service}, nil
	})
}

// CatalogComponent is the catalog-operator.
func CatalogComponent() component.Component {
	return of(Catalog, component.Traits{}, []string{registryImage}, func(ctx *component.Context) ([]client.Object, error) {
		c := corev1.Container{
			Command: []string{"/bin/catalog"},
			Args: append([]string{"--namespace", marketplace, "--configmapServerImage=$(OPERATOR_REGISTRY_IMAGE)", "--opmImage=$(OPERATOR_REGISTRY_IMAGE)",
				"--util-image", "$(OLM_OPERATOR_IMAGE)", "--writeStatusName", image + "-catalog", "--kubeconfig", kubeconfig}, tlsArgs()...),
			Env: component.Environment(contract.ReleaseVersionEnv, ctx.GuestVersion, "KUBECONFIG", kubeconfig,
				"OLM_OPERATOR_IMAGE", ctx.Image(image), "OPERATOR_REGISTRY_IMAGE", ctx.Image(registryImage)),
			Resources: component.Requests("10m", "80Mi"),
		}
		d, service := metered(ctx, Catalog, c, catalogAPI)
		// Where the management cluster has image streams, the names of images may be theirs.
		d.Spec.Template.Annotations = map[string]string{"alpha.image.policy.openshift.io/resolve-names": "*"}
		return []client.Object{d, service}, nil
	})
}

// PackagesComponent is the packageserver.
func PackagesComponent() component.Component {
	traits := component.Traits{Replicas: 3, Priority: component.PriorityAPICritical, Budget: true}
	return of(Packages, traits, []string{component.ToolsImage}, func(ctx *component.Context) ([]client.Object, error) {
		serving := component.SecretVolume("apiservice-cert", Packages+"-cert")
		serving.Secret.Items = []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: "apiserver.crt"}, {Key: corev1.TLSPrivateKeyKey, Path: "apiserver.key"}}
		c := corev1.Container{
			Name: Packages, Image: ctx.Image(image), Command: []string{"/bin/package-server"},
			Args: append([]string{"-v=4", "--secure-port", "5443", "--global-namespace", marketplace,
				"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig},
				ctx.Since(5, 0, ctx.TLSProfile()...)...),
			Env:            append(component.Environment("OPERATOR_CONDITION_NAME", Packages, contract.ReleaseVersionEnv, ctx.GuestVersion), tunnelEnv(ctx)...),
			Ports:          []corev1.ContainerPort{component.TCPPort("https", packagesPort)},
			Resources:      component.Requests("10m", "250Mi"),
			LivenessProbe:  component.HTTPSProbe("/healthz", packagesPort, 10, 1, 10),
			ReadinessProbe: component.HTTPSProbe("/healthz", packagesPort, 10, 1, 3),
			VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/openshift/kubeconfig"),
				component.Mount("apiservice-cert:/apiserver.local.config/certificates"), component.Mount("webhook-cert:/tmp/k8s-webhook-server/serving-certs")},
		}
		spec := corev1.PodSpec{Containers: []corev1.Container{c, component.APIServerCheck(ctx)},
			Volumes: []corev1.Volume{component.NetworkKubeconfigVolume(), serving, component.SecretVolume("webhook-cert", Packages+"-cert")}}
		component.AddSOCKSProxy(ctx, &spec, component.TunnelProxy{})
		component.AddAPIProber(&spec, ctx.Settings.Image, "kubeconfig", catalogAPI)
		service := component.NewService(Packages, 443, packagesPort)
		// All Services of aggregated API servers are found by one label.
		service.Labels[component.LabelApp] = contract.OpenShiftAPIServer
		return []client.Object{component.NewDeployment(Packages, spec), service}, nil
	})
}

func of(name string, traits component.Traits, more []string, objects func(*component.Context) ([]client.Object, error)) component.Component {
	return component.Component{Name: name, Kind: release.KindOpenShift, ImageKeys: append([]string{image}, more...), DependsOn: []string{contract.APIServer},
		Traits: traits, Objects: objects}
}

func tlsArgs() []string {
	return []string{"--tls-cert", "/srv-cert/tls.crt", "--tls-key", "/srv-cert/tls.key", "--client-ca", "/client-ca/ca.crt"}
}

// tunnelEnv leads to catalogs in the guest, and to those that run beside the control plane directly.
func tunnelEnv(ctx *component.Context) []corev1.EnvVar {
	direct := contract.APIServer
	if ctx.HCP.Spec.OLMCatalogPlacement != hyperv1.GuestOLMCatalogPlacement {
		for _, c := range catalog.Of(ctx.HCP, ctx.GuestVersion) {
			direct += "," + c.Name
		}
	}
	return component.Environment("GRPC_PROXY", "socks5://127.0.0.1:8090", contract.NoProxyEnv, direct)
}

// metered completes a program that serves nothing but its metrics.
func metered(ctx *component.Context, name string, c corev1.Container, apis ...string) (*appsv1.Deployment, *corev1.Service) {
	c.Name, c.Image = name, ctx.Image(image)
	c.Env = append(c.Env, tunnelEnv(ctx)...)
	c.Ports = []corev1.ContainerPort{component.TCPPort("metrics", metricsPort)}
	c.LivenessProbe = component.After(60, component.HTTPSProbe("/healthz", metricsPort, 10, 1, 3))
	c.ReadinessProbe = component.HTTPSProbe("/healthz", metricsPort, 10, 1, 3)
	c.VolumeMounts = []corev1.VolumeMount{component.Mount("srv-cert:/srv-cert"), component.Mount("client-ca:/client-ca"), component.Mount("kubeconfig:/etc/openshift/kubeconfig")}
	spec := corev1.PodSpec{Containers: []corev1.Container{c}, Volumes: []corev1.Volume{component.SecretVolume("srv-cert", name+"-serving-cert"),
		component.SecretVolume("client-ca", contract.MetricsClient), component.NetworkKubeconfigVolume()}}
	component.AddSOCKSProxy(ctx, &spec, component.TunnelProxy{})
	component.AddAPIProber(&spec, ctx.Settings.Image, "kubeconfig", apis...)
	service := component.NewService(name+"-metrics", metricsPort, metricsPort)
	service.Spec.Selector = map[string]string{component.LabelApp: name}
	service.Spec.Ports[0].Name = "https-metrics"
	return component.NewDeployment(name, spec), service
}
