package openshiftapiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	openshiftcpv1 "github.com/openshift/api/openshiftcontrolplane/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	certs = "/etc/kubernetes/certs"
	// watchList is what a server that knows the gate is not given: its own clients cannot read such answers.
	watchList = "WatchList"
)

// configuration renders the server's OpenShiftAPIServerConfig.
func configuration(ctx *component.Context) (string, error) {
	gates, err := ctx.FeatureGates()
	if err != nil {
		return "", err
	}
	image, err := clusterconfig.ImageOf(ctx.HCP)
	if err != nil {
		return "", err
	}
	domain, err := component.RoutingDomain(ctx.HCP)
	if err != nil {
		return "", err
	}
	project, err := observedProject(ctx)
	if err != nil {
		return "", err
	}
	if ctx.AtLeast(4, 22) {
		gates = append(slices.DeleteFunc(gates, func(g string) bool { return strings.HasPrefix(g, watchList+"=") }), watchList+"=false")
	}
	config := openshiftcpv1.OpenShiftAPIServerConfig{
		TypeMeta: metav1.TypeMeta{Kind: "OpenShiftAPIServerConfig", APIVersion: openshiftcpv1.GroupVersion.String()},
		GenericAPIServerConfig: configv1.GenericAPIServerConfig{
			ServingInfo:      ctx.ServingInfo("", serving, certs+"/client-ca/ca.crt"),
			KubeClientConfig: configv1.KubeClientConfig{KubeConfig: component.NetworkKubeconfig},
			StorageConfig: configv1.EtcdStorageConfig{EtcdConnectionInfo: configv1.EtcdConnectionInfo{
				URLs: []string{component.EtcdServers(ctx.HCP)}, CA: certs + "/etcd-client-ca/ca.crt",
				CertInfo: configv1.CertInfo{CertFile: certs + "/etcd-client/etcd-client.crt", KeyFile: certs + "/etcd-client/etcd-client.key"},
			}},
		},
		ImagePolicyConfig: openshiftcpv1.ImagePolicyConfig{ExternalRegistryHostnames: image.ExternalRegistryHostnames},
		ProjectConfig:     project,
		RoutingConfig:     openshiftcpv1.RoutingConfig{Subdomain: domain},
		APIServerArguments: map[string][]string{
			"audit-log-format": {"json"}, "audit-log-maxbackup": {"1"}, "audit-log-maxsize": {"10"}, "audit-log-path": {logs + "/audit.log"},
			"audit-policy-file":       {"/etc/kubernetes/audit-config/policy.yaml"},
			"shutdown-delay-duration": {"15s"},
			"feature-gates":           gates,
		},
	}
	config.ServingInfo.BindNetwork = ""
	if component.HasCapability(ctx.HCP, hyperv1.OptionalCapability("ImageRegistry")) {
		config.ImagePolicyConfig.InternalRegistryHostname = component.InternalRegistry
	}
	for _, allowed := range image.AllowedRegistriesForImport {
		config.ImagePolicyConfig.AllowedRegistriesForImport = append(config.ImagePolicyConfig.AllowedRegistriesForImport,
			openshiftcpv1.RegistryLocation{DomainName: allowed.DomainName, Insecure: allowed.Insecure})
	}
	if w := ctx.HCP.Spec.AuditWebhook; w != nil && w.Name != "" {
		config.APIServerArguments["audit-webhook-config-file"] = []string{component.AuditWebhookKubeconfig}
		config.APIServerArguments["audit-webhook-mode"] = []string{"batch"}
		config.APIServerArguments["audit-webhook-initial-backoff"] = []string{"5s"}
	}
	return component.YAML(config)
}

// observedProject is how the guest says that Projects are requested.
func observedProject(ctx *component.Context) (openshiftcpv1.ProjectConfig, error) {
	project := configv1.Project{}
	if err := ctx.Observed("project", &project); err != nil {
		return openshiftcpv1.ProjectConfig{}, err
	}
	out := openshiftcpv1.ProjectConfig{ProjectRequestMessage: project.Spec.ProjectRequestMessage}
	if name := project.Spec.ProjectRequestTemplate.Name; name != "" {
		out.ProjectRequestTemplate = "openshift-config/" + name
	}
	return out, nil
}

// addTrust mounts the authorities that the user trusts, and those of the registries that he names.
func addTrust(ctx *component.Context, spec *corev1.PodSpec) error {
	const volume, dir = "additional-trust-bundle", "/etc/pki/tls/certs"
	var sources []corev1.VolumeProjection
	project := func(configMap, key, path string) {
		sources = append(sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Items: []corev1.KeyToPath{{Key: key, Path: path}}}})
	}
	if ctx.HCP.Spec.AdditionalTrustBundle != nil {
		project(contract.UserCABundle, hyperv1.TrustBundleKey, "additional-ca-bundle.pem")
	}
	image, err := clusterconfig.ImageOf(ctx.HCP)
	if err != nil {
		return err
	}
	if name := image.AdditionalTrustedCA.Name; name != "" {
		data, err := ctx.ConfigMap(name)
		if err != nil {
			return err
		}
		for i, key := range slices.Sorted(maps.Keys(data)) {
			project(name, key, fmt.Sprintf("image-registry-%d.pem", i+1))
		}
	}
	if len(sources) == 0 {
		return nil
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}})
	for _, source := range sources {
		path := source.ConfigMap.Items[0].Path
		spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: volume, MountPath: dir + "/" + path, SubPath: path, ReadOnly: true})
	}
	return nil
}
