package apiserver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	kubecontrolplanev1 "github.com/openshift/api/kubecontrolplane/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const gatesOf = `status:
  featureGates:
  - version: 4.21.0
    enabled: [{name: OpenShiftPodSecurityAdmission}, {name: VolumeAttributesClass}]
    disabled: [{name: ValidatingAdmissionPolicy}, {name: DynamicResourceAllocation}]
`

// openShiftServer renders the API server of a payload of OpenShift's: its file, its Deployment, and what else there is by name.
func openShiftServer(t *testing.T, configuration *hyperv1.ClusterConfiguration, users publish.Endpoint) (kubecontrolplanev1.KubeAPIServerConfig, *appsv1.Deployment, map[string]map[string]string, error) {
	t.Helper()
	hcp := planetest.Plane()
	hcp.Spec.Configuration = configuration
	ctx := planetest.View(hcp)
	ctx.Payload, ctx.GuestVersion = release.KindOpenShift, "4.21.0"
	ctx.Inputs.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: contract.FeatureGate}, Data: map[string]string{"feature-gate.yaml": gatesOf}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: authenticator}, Data: map[string][]byte{"tls.crt": []byte("certificate"), "tls.key": []byte("key")}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "root-ca"}, Data: map[string]string{"ca.crt": "authorities"}})
	objects, err := Component(publish.Endpoints{OAuth: users}).Objects(ctx)
	var config kubecontrolplanev1.KubeAPIServerConfig
	var d *appsv1.Deployment
	files := map[string]map[string]string{}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *corev1.ConfigMap:
			files[o.Name] = o.Data
		case *corev1.Secret:
			files[o.Name] = map[string]string{}
			for key, value := range o.Data {
				files[o.Name][key] = string(value)
			}
		case *appsv1.Deployment:
			d = o
		}
	}
	if text := files[kasConfigMap]["config.json"]; text != "" {
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
	}
	return config, d, files, err
}

// With OpenShift's own users, the server asks the aggregated API server of OAuth about tokens, and tells clients where they log in.
func TestOpenShiftServer(t *testing.T) {
	config, d, files, err := openShiftServer(t, nil, publish.Endpoint{Host: "oauth.example.com", Port: 443})
	if err != nil {
		t.Fatal(err)
	}
	arguments := config.APIServerArguments
	if enabled := arguments["enable-admission-plugins"]; len(enabled) != 45 || arguments["disable-admission-plugins"] != nil || len(admissionPlugins) != 43 {
		t.Errorf("%d admission plugins are on, %v off", len(enabled), arguments["disable-admission-plugins"])
	}
	want := []string{"DynamicResourceAllocation=false", "OpenShiftPodSecurityAdmission=true", "StructuredAuthenticationConfiguration=true",
		"ValidatingAdmissionPolicy=true", "VolumeAttributesClass=true"}
	if got := []string(arguments["feature-gates"]); !slices.Equal(got, want) {
		t.Errorf("feature gates %v", got)
	}
	if got := arguments["runtime-config"]; !slices.Equal(got, []string{"admissionregistration.k8s.io/v1beta1=true", "storage.k8s.io/v1beta1=true"}) {
		t.Errorf("runtime-config %v", got)
	}
	if got := string(config.AdmissionConfig.PluginConfig["PodSecurity"].Configuration.Raw); !strings.Contains(got, `"enforce":"restricted"`) || !strings.Contains(got, "build-controller") {
		t.Errorf("PodSecurity %s", got)
	}
	if got := string(config.AdmissionConfig.PluginConfig["network.openshift.io/RestrictedEndpointsAdmission"].Configuration.Raw); !strings.Contains(got, `"restrictedCIDRs":["10.132.0.0/14"]`) {
		t.Errorf("RestrictedEndpointsAdmission %s", got)
	}
	if config.ServicesSubnet != "172.31.0.0/16" || config.ConsolePublicURL != "https://console-openshift-console.apps.demo.hypershift.test" ||
		config.ImagePolicyConfig.InternalRegistryHostname != component.InternalRegistry || config.ServiceAccountPublicKeyFiles[0] != certDir+"/service-account/service-account.pub" {
		t.Errorf("the file says %+v", config)
	}
	for _, told := range []string{"v", "tls-cert-file", "client-ca-file", "secure-port"} {
		if value, twice := arguments[told]; twice {
			t.Errorf("%s=%v is told twice", told, value)
		}
	}
	webhook, err := clientcmd.Load([]byte(files[tokenWebhook]["kubeconfig"]))
	if err != nil {
		t.Fatal(err)
	}
	cluster, user := webhook.Clusters["token-webhook"], webhook.AuthInfos["token-webhook"]
	if cluster.Server != "https://openshift-oauth-apiserver.clusters-demo.svc:443/apis/oauth.openshift.io/v1/tokenreviews" || string(cluster.CertificateAuthorityData) != "authorities" ||
		string(user.ClientCertificateData) != "certificate" || string(user.ClientKeyData) != "key" {
		t.Errorf("the webhook is %+v as %+v", cluster, user)
	}
	if !strings.Contains(files["oauth-metadata"]["oauthMetadata.json"], `"token_endpoint": "https://oauth.example.com:443/oauth/token"`) ||
		config.AuthConfig.OAuthMetadataFile != metadataDir+"/oauthMetadata.json" {
		t.Errorf("clients are told %v, by %s", files["oauth-metadata"], config.AuthConfig.OAuthMetadataFile)
	}
	for _, dir := range []string{tokenDir, metadataDir, kasConfigDir} {
		if !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == dir }) {
			t.Errorf("%s is not mounted", dir)
		}
	}
	_, _, _, err = openShiftServer(t, nil, publish.Endpoint{})
	if missing := (*component.MissingInputError)(nil); !errors.As(err, &missing) || missing.Name != "oauth-metadata" {
		t.Errorf("before it is known where users log in: %v", err)
	}
}

// With users of a provider outside there is nothing of OAuth; what the user says of log-in stands in its place.
func TestOpenShiftServerWithUsersFromOutside(t *testing.T) {
	configuration := &hyperv1.ClusterConfiguration{
		Authentication: &runtime.RawExtension{Raw: []byte(`{"type":"OIDC","oauthMetadata":{"name":"mine"},"oidcProviders":[{"name":"entra","issuer":{"issuerURL":"https://entra.example","audiences":["a"]},"claimMappings":{"username":{"claim":"email"}}}]}`)},
		Network:        &runtime.RawExtension{Raw: []byte(`{"externalIP":{"policy":{"allowedCIDRs":["192.0.2.0/24"],"rejectedCIDRs":["192.0.2.7/32"]}}}`)},
	}
	config, d, files, err := openShiftServer(t, configuration, publish.Endpoint{})
	if err != nil {
		t.Fatal(err)
	}
	arguments := config.APIServerArguments
	if len(arguments["enable-admission-plugins"]) != 43 || !slices.Equal(arguments["disable-admission-plugins"], loginPlugins) {
		t.Errorf("off are %v", arguments["disable-admission-plugins"])
	}
	if arguments["authentication-config"] == nil || arguments["authentication-token-webhook-config-file"] != nil || files[tokenWebhook] != nil || files["oauth-metadata"] != nil {
		t.Errorf("arguments %v, objects %v", arguments, files)
	}
	mounted := slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == "mine" })
	if !mounted || config.AuthConfig.OAuthMetadataFile != metadataDir+"/oauthMetadata.json" {
		t.Errorf("the user's metadata is mounted: %t, at %s", mounted, config.AuthConfig.OAuthMetadataFile)
	}
	if got := string(config.AdmissionConfig.PluginConfig["network.openshift.io/ExternalIPRanger"].Configuration.Raw); !strings.Contains(got, `["!192.0.2.7/32","192.0.2.0/24"]`) {
		t.Errorf("ExternalIPRanger %s", got)
	}
}

func TestNamedCertificates(t *testing.T) {
	got := namedCertificates([]string{"a.crt,a.key", "b.crt,b.key:x.test,*.y.test"})
	if len(got) != 2 || got[0].Names != nil || got[1].CertInfo != (configv1.CertInfo{CertFile: "b.crt", KeyFile: "b.key"}) || !slices.Equal(got[1].Names, []string{"x.test", "*.y.test"}) {
		t.Errorf("%+v", got)
	}
}
