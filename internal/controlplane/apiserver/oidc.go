package apiserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	authConfigMap = contract.AuthConfig
	authConfigKey = "auth.json"
	authDir       = configDir + "/auth"
)

// structuredStable is the first release whose Kubernetes (1.34) serves the configuration as v1; those before serve v1beta1.
var structuredStable = version.MustParseSemantic("4.21.0")

// The types are those of apiserver.config.k8s.io, whose module would bring the whole API server's library.
type (
	authenticationConfiguration struct {
		APIVersion string             `json:"apiVersion"`
		Kind       string             `json:"kind"`
		JWT        []jwtAuthenticator `json:"jwt"`
	}
	jwtAuthenticator struct {
		Issuer               jwtIssuer             `json:"issuer"`
		ClaimValidationRules []claimValidationRule `json:"claimValidationRules,omitempty"`
		ClaimMappings        claimMappings         `json:"claimMappings"`
	}
	jwtIssuer struct {
		URL                  string   `json:"url"`
		CertificateAuthority string   `json:"certificateAuthority,omitempty"`
		Audiences            []string `json:"audiences"`
		AudienceMatchPolicy  string   `json:"audienceMatchPolicy"`
	}
	claimValidationRule struct {
		Claim         string `json:"claim"`
		RequiredValue string `json:"requiredValue"`
	}
	claimMappings struct {
		Username prefixedClaim     `json:"username"`
		Groups   *prefixedClaim    `json:"groups,omitempty"`
		UID      claimOrExpression `json:"uid"`
		Extra    []extraMapping    `json:"extra,omitempty"`
	}
	prefixedClaim struct {
		Claim  string `json:"claim"`
		Prefix string `json:"prefix"`
	}
	claimOrExpression struct {
		Claim      string `json:"claim,omitempty"`
		Expression string `json:"expression,omitempty"`
	}
	extraMapping struct {
		Key             string `json:"key"`
		ValueExpression string `json:"valueExpression"`
	}
)

// externalOIDC makes the API server trust the tokens of the user's identity providers, and gives it the way to them. Without any, it
// changes nothing.
func externalOIDC(ctx *component.Context, template *corev1.PodTemplateSpec) ([]client.Object, error) {
	authentication, err := clusterconfig.AuthenticationOf(ctx.HCP)
	if err != nil {
		return nil, err
	}
	if !clusterconfig.ExternalOIDC(authentication) {
		return nil, nil
	}
	config := authenticationConfiguration{APIVersion: "apiserver.config.k8s.io/" + structuredVersion(ctx.Version), Kind: "AuthenticationConfiguration"}
	for _, provider := range authentication.OIDCProviders {
		authenticator, err := authenticatorOf(ctx, provider)
		if err != nil {
			return nil, fmt.Errorf("spec.configuration.authentication.oidcProviders %q: %w", provider.Name, err)
		}
		config.JWT = append(config.JWT, authenticator)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("render the configuration of authentication: %w", err)
	}
	pod := &template.Spec
	pod.Volumes = append(pod.Volumes, component.ConfigMapVolume("auth-config", authConfigMap))
	server := &pod.Containers[0]
	server.VolumeMounts = append(server.VolumeMounts, component.Mount("auth-config:"+authDir))
	server.Command = append(server.Command, "--authentication-config="+authDir+"/"+authConfigKey)
	reachIssuers(ctx, pod)
	return []client.Object{configMap(authConfigMap, authConfigKey, string(text))}, nil
}

func structuredVersion(release string) string {
	if v, err := version.ParseSemantic(release); err == nil && v.LessThan(structuredStable) {
		return "v1beta1"
	}
	return "v1"
}

func authenticatorOf(ctx *component.Context, provider configv1.OIDCProvider) (jwtAuthenticator, error) {
	mappings := provider.ClaimMappings
	out := jwtAuthenticator{
		Issuer: jwtIssuer{URL: provider.Issuer.URL, AudienceMatchPolicy: "MatchAny"},
		ClaimMappings: claimMappings{
			Username: prefixedClaim{Claim: mappings.Username.Claim, Prefix: usernamePrefix(provider)},
			UID:      claimOrExpression{Claim: "sub"},
		},
	}
	for _, audience := range provider.Issuer.Audiences {
		out.Issuer.Audiences = append(out.Issuer.Audiences, string(audience))
	}
	if name := provider.Issuer.CertificateAuthority.Name; name != "" {
		bundle, err := ctx.ConfigMap(name)
		if err != nil {
			return out, fmt.Errorf("issuer.issuerCertificateAuthority: %w", err)
		}
		out.Issuer.CertificateAuthority = string(bundle[hyperv1.TrustBundleKey])
		if out.Issuer.CertificateAuthority == "" {
			return out, fmt.Errorf("issuer.issuerCertificateAuthority: ConfigMap %q has no key %q", name, hyperv1.TrustBundleKey)
		}
	}
	if mappings.Groups.Claim != "" {
		out.ClaimMappings.Groups = &prefixedClaim{Claim: mappings.Groups.Claim, Prefix: mappings.Groups.Prefix}
	}
	if uid := mappings.UID; uid != nil {
		out.ClaimMappings.UID = claimOrExpression{Claim: uid.Claim, Expression: uid.Expression}
	}
	for _, extra := range mappings.Extra {
		out.ClaimMappings.Extra = append(out.ClaimMappings.Extra, extraMapping{Key: extra.Key, ValueExpression: extra.ValueExpression})
	}
	for _, rule := range provider.ClaimValidationRules {
		if rule.RequiredClaim == nil {
			return out, fmt.Errorf("claimValidationRules: a rule of type %q has no requiredClaim", rule.Type)
		}
		out.ClaimValidationRules = append(out.ClaimValidationRules, claimValidationRule{Claim: rule.RequiredClaim.Claim, RequiredValue: rule.RequiredClaim.RequiredValue})
	}
	return out, nil
}

// usernamePrefix: without an opinion of the user, names from two issuers must not meet; addresses of electronic mail cannot.
func usernamePrefix(provider configv1.OIDCProvider) string {
	username := provider.ClaimMappings.Username
	switch {
	case username.PrefixPolicy == configv1.NoPrefix:
		return ""
	case username.PrefixPolicy == configv1.Prefix && username.Prefix != nil:
		return username.Prefix.PrefixString
	case username.Claim == "email":
		return ""
	}
	return provider.Issuer.URL + "#"
}

// reachIssuers gives the API server, and no other container, the management cluster's way out. It is for issuers, which have names: whatever
// is called by an address (kubelets, pods, endpoints of Services) stays direct, as does an etcd of the user's.
func reachIssuers(ctx *component.Context, pod *corev1.PodSpec) {
	if ctx.Settings.Cloud == nil {
		return
	}
	side := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: pod.Containers[:1:1]}}
	ctx.Settings.Cloud(&side)
	for _, volume := range side.Spec.Volumes {
		if !slices.ContainsFunc(pod.Volumes, func(have corev1.Volume) bool { return have.Name == volume.Name }) {
			pod.Volumes = append(pod.Volumes, volume)
		}
	}
	server := &side.Spec.Containers[0]
	for i := range server.Env {
		if server.Env[i].Name == contract.NoProxyEnv {
			direct := append(strings.Split(server.Env[i].Value, ","), directHosts(ctx.HCP)...)
			slices.Sort(direct)
			server.Env[i].Value = strings.Join(slices.Compact(direct), ",")
		}
	}
	pod.Containers[0] = *server
}

func directHosts(hcp *hyperv1.HostedControlPlane) []string {
	out := []string{"0.0.0.0/0", "::/0"}
	if unmanaged := hcp.Spec.Etcd.Unmanaged; unmanaged != nil {
		if endpoint, err := url.Parse(unmanaged.Endpoint); err == nil && endpoint.Hostname() != "" {
			out = append(out, endpoint.Hostname())
		}
	}
	return out
}
