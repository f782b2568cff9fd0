package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	kubecontrolplanev1 "github.com/openshift/api/kubecontrolplane/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Objects of an API server of OpenShift's payloads.
const (
	kasConfigMap = contract.APIServerConfig
	kasConfigKey = "config.json"
	kasConfigDir = configDir + "/kas"

	// tokenWebhook is a Secret with the kubeconfig by which the server asks whose a token of OAuth is; authenticator has its certificate.
	tokenWebhook  = "kas-authentication-token-webhook-config"
	tokenDir      = configDir + "/token-webhook"
	authenticator = contract.AuthenticatorCertificate

	// loginMetadata is a ConfigMap that tells clients where users log in.
	loginMetadata = contract.LoginMetadata
	metadataKey   = "oauthMetadata.json"
	metadataDir   = configDir + "/oauth-metadata"
)

// configureOpenShift turns the server's arguments into the file that OpenShift's build is configured by, with what only that build knows, and
// mounts what the file names. Other payloads' servers it leaves alone.
func configureOpenShift(ctx *component.Context, endpoints publish.Endpoints, pod *corev1.PodSpec) ([]client.Object, error) {
	if ctx.Payload != release.KindOpenShift {
		return nil, nil
	}
	objects, metadataFile, err := login(ctx, endpoints, pod)
	if err != nil {
		return nil, err
	}
	server := &pod.Containers[0]
	config, verbosity, err := openShiftConfig(ctx, server.Command[1:])
	if err != nil {
		return nil, err
	}
	config.AuthConfig.OAuthMetadataFile = metadataFile
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", kasConfigMap, err)
	}
	server.Command = []string{"hyperkube", contract.APIServer, "--openshift-config=" + kasConfigDir + "/" + kasConfigKey, "--v=" + verbosity}
	mount(pod, component.ConfigMapVolume("kas-config", kasConfigMap), kasConfigDir)
	return append(objects, configMap(kasConfigMap, kasConfigKey, string(text))), nil
}

func mount(pod *corev1.PodSpec, volume corev1.Volume, dir string) {
	pod.Volumes = append(pod.Volumes, volume)
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, component.Mount(volume.Name+":"+dir))
}

// openShiftConfig is the file of a server that has these arguments, and how much it logs.
func openShiftConfig(ctx *component.Context, args []string) (config kubecontrolplanev1.KubeAPIServerConfig, verbosity string, err error) {
	arguments := map[string]kubecontrolplanev1.Arguments{}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		arguments[name] = append(arguments[name], value)
	}
	gates, err := serverGates(ctx)
	if err != nil {
		return config, "", err
	}
	admission, err := admissionOf(ctx, gates)
	if err != nil {
		return config, "", err
	}
	apps, err := component.AppsDomain(ctx.HCP)
	if err != nil {
		return config, "", err
	}
	verbosity = arguments["v"][0]
	serving := ctx.ServingInfo(fmt.Sprintf("0.0.0.0:%d", publish.APIServerPort), certDir+"/server", arguments["client-ca-file"][0])
	serving.NamedCertificates = namedCertificates(arguments["tls-sni-cert-key"])
	for _, told := range []string{"v", "bind-address", "secure-port", "client-ca-file", "tls-cert-file", "tls-private-key-file", "tls-min-version", "tls-cipher-suites",
		"tls-sni-cert-key", "enable-admission-plugins"} {
		delete(arguments, told)
	}
	arguments["authorization-mode"] = []string{"Scope", "SystemMasters", "RBAC", "Node"}
	arguments["feature-gates"] = gates
	arguments["runtime-config"] = append(arguments["runtime-config"], runtimeOf(gates)...)
	enabled, disabled := plugins(ctx.LogsUsersIn())
	arguments["enable-admission-plugins"] = enabled
	if len(disabled) > 0 {
		arguments["disable-admission-plugins"] = disabled
	}
	if ctx.LogsUsersIn() {
		arguments["authentication-token-webhook-config-file"] = []string{tokenDir + "/" + contract.KubeconfigKey}
		arguments["authentication-token-webhook-version"] = []string{"v1"}
	}
	config = kubecontrolplanev1.KubeAPIServerConfig{
		TypeMeta:                     metav1.TypeMeta{Kind: "KubeAPIServerConfig", APIVersion: kubecontrolplanev1.GroupVersion.String()},
		GenericAPIServerConfig:       configv1.GenericAPIServerConfig{ServingInfo: serving, AdmissionConfig: admission},
		ServicesSubnet:               arguments["service-cluster-ip-range"][0],
		ServicesNodePortRange:        arguments["service-node-port-range"][0],
		ServiceAccountPublicKeyFiles: arguments["service-account-key-file"],
		ConsolePublicURL:             "https://console-openshift-console." + apps,
		APIServerArguments:           arguments,
	}
	if component.HasCapability(ctx.HCP, hyperv1.OptionalCapability("ImageRegistry")) {
		config.ImagePolicyConfig.InternalRegistryHostname = component.InternalRegistry
	}
	return config, verbosity, nil
}

// namedCertificates reads what --tls-sni-cert-key says: CERTIFICATE,KEY or CERTIFICATE,KEY:NAME,NAME.
func namedCertificates(values []string) []configv1.NamedCertificate {
	var out []configv1.NamedCertificate
	for _, value := range values {
		files, names, _ := strings.Cut(value, ":")
		certificate, key, _ := strings.Cut(files, ",")
		named := configv1.NamedCertificate{CertInfo: configv1.CertInfo{CertFile: certificate, KeyFile: key}}
		if names != "" {
			named.Names = strings.Split(names, ",")
		}
		out = append(out, named)
	}
	return out
}

// serverGates are the payload's, but for two that the server's own configuration takes for granted.
func serverGates(ctx *component.Context) ([]string, error) {
	gates, err := ctx.FeatureGates()
	if err != nil {
		return nil, err
	}
	for _, forced := range []string{"StructuredAuthenticationConfiguration", "ValidatingAdmissionPolicy"} {
		gates = slices.DeleteFunc(gates, func(g string) bool { return strings.HasPrefix(g, forced+"=") })
		gates = append(gates, forced+"=true")
	}
	slices.Sort(gates)
	return gates, nil
}

// runtimeOf are the versions of APIs that gates need.
func runtimeOf(gates []string) []string {
	var out []string
	for _, of := range []struct{ gate, api string }{
		{"DynamicResourceAllocation", "resource.k8s.io/v1beta1"}, {"VolumeAttributesClass", "storage.k8s.io/v1beta1"},
	} {
		if slices.Contains(gates, of.gate+"=true") {
			out = append(out, of.api+"=true")
		}
	}
	return out
}

// login mounts what the server knows users by, and tells clients where they log in.
func login(ctx *component.Context, endpoints publish.Endpoints, pod *corev1.PodSpec) (objects []client.Object, metadataFile string, err error) {
	if ctx.LogsUsersIn() {
		webhook, err := webhookKubeconfig(ctx)
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, webhook)
		mount(pod, component.SecretVolume("token-webhook", tokenWebhook), tokenDir)
	}
	authentication, err := clusterconfig.AuthenticationOf(ctx.HCP)
	if err != nil {
		return nil, "", err
	}
	volume := component.ConfigMapVolume(loginMetadata, loginMetadata)
	switch own := authentication.OAuthMetadata.Name; {
	case own != "":
		volume.ConfigMap.Name = own
		volume.ConfigMap.Items = []corev1.KeyToPath{{Key: "oauthMetadata", Path: metadataKey}}
	case !ctx.LogsUsersIn():
		return objects, "", nil
	case !endpoints.OAuth.Known():
		return nil, "", &component.MissingInputError{Kind: "ConfigMap", Name: loginMetadata}
	default:
		text, err := metadataOf(endpoints.OAuth)
		if err != nil {
			return nil, "", err
		}
		objects = append(objects, configMap(loginMetadata, metadataKey, text))
	}
	mount(pod, volume, metadataDir)
	return objects, metadataDir + "/" + metadataKey, nil
}

// metadataOf describes the OAuth server to clients, as RFC 8414 has it.
func metadataOf(server publish.Endpoint) (string, error) {
	issuer := server.URL()
	text, err := json.MarshalIndent(map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + "/oauth/authorize", "token_endpoint": issuer + "/oauth/token",
		"scopes_supported":         []string{"user:check-access", "user:full", "user:info", "user:list-projects", "user:list-scoped-projects"},
		"response_types_supported": []string{"code", "token"}, "grant_types_supported": []string{"authorization_code", "implicit"},
		"code_challenge_methods_supported": []string{"plain", "S256"},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render %s: %w", loginMetadata, err)
	}
	return string(text), nil
}

// webhookKubeconfig leads to the aggregated API server of OAuth, directly: the API server must know who asks before it can be asked itself.
func webhookKubeconfig(ctx *component.Context) (client.Object, error) {
	own, err := ctx.Secret(authenticator)
	if err != nil {
		return nil, err
	}
	authorities, err := ctx.ConfigMap(contract.RootCA)
	if err != nil {
		return nil, err
	}
	const name = "token-webhook"
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {CertificateAuthorityData: authorities[contract.CAKey],
			Server: "https://" + contract.OAuthAPIServer + "." + ctx.Namespace() + ".svc:443/apis/oauth.openshift.io/v1/tokenreviews"}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: own[corev1.TLSCertKey], ClientKeyData: own[corev1.TLSPrivateKeyKey]}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", tokenWebhook, err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: tokenWebhook}, Data: map[string][]byte{contract.KubeconfigKey: text}}, nil
}
