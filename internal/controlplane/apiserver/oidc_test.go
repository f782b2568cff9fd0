package apiserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

func oidcContext(t testing.TB, version, authentication string, objects ...client.Object) *component.Context {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
	hcp.Spec.Etcd.Unmanaged = &hyperv1.UnmanagedEtcdSpec{Endpoint: "https://etcd.example.com:2379"}
	hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &runtime.RawExtension{Raw: []byte(authentication)}}
	proxy := proxyenv.Proxy{HTTPSProxy: "http://proxy:8888", NoProxy: ".corp", TrustBundle: contract.TrustedCA}
	return &component.Context{
		Context: t.Context(), HCP: hcp, Version: version, Inputs: &component.Inputs{},
		Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		Settings: component.Settings{Cloud: func(p *corev1.PodTemplateSpec) { proxyenv.Stamp(&p.Spec, proxy) }},
	}
}

func oidcTemplate() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: Name}, {Name: "konnectivity-server"}}}}
}

func issuerCA() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "issuer-ca"}, Data: map[string]string{hyperv1.TrustBundleKey: "PEM"}}
}

func TestExternalOIDCConfiguration(t *testing.T) {
	const provider = `{"type":"OIDC","oidcProviders":[{"name":"p","issuer":{"issuerURL":"https://login","audiences":["a","b"]%s},"claimMappings":{"username":%s}%s}]}`
	render := func(issuer, username, more string) string {
		return strings.Replace(strings.Replace(strings.Replace(provider, "%s", issuer, 1), "%s", username, 1), "%s", more, 1)
	}
	for name, test := range map[string]struct{ version, given, want string }{
		"default prefix": {"4.21.0", render("", `{"claim":"oid"}`, ""),
			`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[{"issuer":{"url":"https://login","audiences":["a","b"],"audienceMatchPolicy":"MatchAny"},
			"claimMappings":{"username":{"claim":"oid","prefix":"https://login#"},"uid":{"claim":"sub"}}}]}`},
		"everything, older release": {"4.20.3", strings.Replace(render(`,"issuerCertificateAuthority":{"name":"issuer-ca"}`, `{"claim":"oid","prefixPolicy":"Prefix","prefix":{"prefixString":"x:"}}`,
			`,"claimValidationRules":[{"type":"RequiredClaim","requiredClaim":{"claim":"tid","requiredValue":"t"}}]`),
			`"claimMappings":{`, `"claimMappings":{"groups":{"claim":"groups","prefix":"g:"},"uid":{"expression":"claims.sub"},"extra":[{"key":"e/f","valueExpression":"claims.tid"}],`, 1),
			`{"apiVersion":"apiserver.config.k8s.io/v1beta1","kind":"AuthenticationConfiguration","jwt":[{"issuer":{"url":"https://login","certificateAuthority":"PEM","audiences":["a","b"],"audienceMatchPolicy":"MatchAny"},
			"claimValidationRules":[{"claim":"tid","requiredValue":"t"}],"claimMappings":{"username":{"claim":"oid","prefix":"x:"},"groups":{"claim":"groups","prefix":"g:"},
			"uid":{"expression":"claims.sub"},"extra":[{"key":"e/f","valueExpression":"claims.tid"}]}}]}`},
		"no prefix": {"4.21.0", render("", `{"claim":"oid","prefixPolicy":"NoPrefix"}`, ""),
			`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[{"issuer":{"url":"https://login","audiences":["a","b"],"audienceMatchPolicy":"MatchAny"},
			"claimMappings":{"username":{"claim":"oid","prefix":""},"uid":{"claim":"sub"}}}]}`},
	} {
		objects, err := externalOIDC(oidcContext(t, test.version, test.given, issuerCA()), oidcTemplate())
		if err != nil || len(objects) != 1 {
			t.Errorf("%s: %d objects, %v", name, len(objects), err)
			continue
		}
		var got, want any
		if err := json.Unmarshal([]byte(objects[0].(*corev1.ConfigMap).Data[authConfigKey]), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s:\n%s, want\n%s", name, a, b)
		}
	}
}

// Only the API server gets the way out, and nothing of the cluster takes it.
func TestExternalOIDCReachesIssuers(t *testing.T) {
	template := oidcTemplate()
	const given = `{"type":"OIDC","oidcProviders":[{"name":"p","issuer":{"issuerURL":"https://login","audiences":["a"]},"claimMappings":{"username":{"claim":"oid"}}}]}`
	if _, err := externalOIDC(oidcContext(t, "4.21.0", given), template); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, e := range template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	if env["HTTPS_PROXY"] != "http://proxy:8888" {
		t.Errorf("environment %v", env)
	}
	direct := strings.Split(env["NO_PROXY"], ",")
	for _, host := range []string{".svc", "127.0.0.1", ".corp", "0.0.0.0/0", "::/0", "etcd.example.com"} {
		if !slices.Contains(direct, host) {
			t.Errorf("%s goes through the proxy: %v", host, direct)
		}
	}
	if len(template.Spec.Containers[1].Env) != 0 || len(template.Spec.Volumes) != 2 {
		t.Errorf("pod %+v", template.Spec)
	}
}

// TestWithoutExternalOIDC: what is no longer declared is taken away by the framework.
func TestWithoutExternalOIDC(t *testing.T) {
	ctx, template := oidcContext(t, "4.21.0", `{"type":"IntegratedOAuth"}`), oidcTemplate()
	objects, err := externalOIDC(ctx, template)
	if err != nil || len(objects) != 0 || len(template.Spec.Volumes) != 0 || len(template.Spec.Containers[0].Command) != 0 {
		t.Errorf("%v, %v, %+v", objects, err, template.Spec)
	}
}

func TestExternalOIDCNamesAMissingAuthority(t *testing.T) {
	const given = `{"type":"OIDC","oidcProviders":[{"name":"p","issuer":{"issuerURL":"https://login","audiences":["a"],"issuerCertificateAuthority":{"name":"issuer-ca"}},"claimMappings":{"username":{"claim":"oid"}}}]}`
	_, err := externalOIDC(oidcContext(t, "4.21.0", given), oidcTemplate())
	if err == nil || !strings.Contains(err.Error(), `"p": issuer.issuerCertificateAuthority: ConfigMap issuer-ca`) {
		t.Errorf("error %v", err)
	}
}

// FuzzIdentityProviders: whatever a tenant writes as his identity providers, the API server gets a configuration that can be read, or none.
func FuzzIdentityProviders(f *testing.F) {
	f.Add([]byte(`{"type":"OIDC","oidcProviders":[{"name":"p","issuer":{"issuerURL":"https://login","audiences":["a","b"],"issuerCertificateAuthority":{"name":"issuer-ca"}},
		"claimMappings":{"username":{"claim":"email","prefixPolicy":"Prefix","prefix":{"prefixString":"x"}},"groups":{"claim":"g"},"uid":{"expression":"claims.sub"},"extra":[{"key":"a/b","valueExpression":"claims.x"}]},
		"claimValidationRules":[{"type":"RequiredClaim","requiredClaim":{"claim":"a","requiredValue":"b"}}]}]}`))
	f.Add([]byte(`{"type":"OIDC","oidcProviders":[{"claimValidationRules":[{"type":"RequiredClaim"}]},{"claimMappings":{"username":{"prefixPolicy":"Prefix"}}}]}`))
	f.Add([]byte(`{"type":"OIDC","oidcProviders":[null]}`))
	f.Add([]byte(`[]`))
	shared := oidcContext(f, "4.21.0", "", issuerCA()) // its client takes longer to make than all that is looked at
	f.Fuzz(func(t *testing.T, given []byte) {
		template, ctx := oidcTemplate(), *shared
		ctx.Context, ctx.HCP, ctx.Inputs = t.Context(), shared.HCP.DeepCopy(), &component.Inputs{}
		ctx.HCP.Spec.Configuration.Authentication.Raw = given
		objects, err := externalOIDC(&ctx, template)
		if err != nil || len(objects) == 0 {
			return
		}
		made, ok := objects[0].(*corev1.ConfigMap)
		if !ok || len(objects) != 1 || len(made.Data) != 1 || len(template.Spec.Containers) != 2 {
			t.Fatalf("%d objects, %T", len(objects), objects[0])
		}
		config := authenticationConfiguration{}
		if err := json.Unmarshal([]byte(made.Data[authConfigKey]), &config); err != nil || len(config.JWT) == 0 {
			t.Errorf("%s: %v", made.Data[authConfigKey], err)
		}
	})
}
