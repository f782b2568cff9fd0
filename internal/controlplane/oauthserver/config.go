package oauthserver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	osinv1 "github.com/openshift/api/osin/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	sessionKey = "v4-0-config-system-session"
	// A day, and five minutes, in seconds.
	tokenLife     = 86400
	authorizeLife = 300
)

// providersOf are the identity providers of the control plane; the error is about those that are left out.
func providersOf(ctx *component.Context) (Providers, error) {
	spec, _, err := clusterconfig.OAuthOf(ctx.HCP)
	if err != nil {
		return Providers{}, err
	}
	return Convert(ctx, spec.IdentityProviders, Source{
		Override: func(provider string) string { return ctx.HCP.Annotations[hyperv1.IDPOverridePrefix+"/"+provider] },
		Discover: func(limited context.Context, provider configv1.OpenIDIdentityProvider) (OpenID, error) {
			return known.ask(limited, ctx.ConfigMap, provider)
		},
	})
}

// configuration renders the server's OsinServerConfig.
func configuration(ctx *component.Context, endpoints publish.Endpoints, settings clusterconfig.APIServer, providers Providers) (string, error) {
	spec, _, err := clusterconfig.OAuthOf(ctx.HCP)
	if err != nil {
		return "", err
	}
	serving := ctx.ServingInfo(fmt.Sprintf("0.0.0.0:%d", port), servingDir, "")
	serving.MaxRequestsInFlight, serving.RequestTimeoutSeconds = 1000, 300
	for i, named := range settings.Serving() {
		dir := fmt.Sprintf("%s%d", namedDir, i+1)
		serving.NamedCertificates = append(serving.NamedCertificates, configv1.NamedCertificate{Names: named.Names,
			CertInfo: configv1.CertInfo{CertFile: dir + "/tls.crt", KeyFile: dir + "/tls.key"}})
	}
	tokens := osinv1.TokenConfig{AccessTokenMaxAgeSeconds: tokenLife, AuthorizeTokenMaxAgeSeconds: authorizeLife,
		AccessTokenInactivityTimeout: spec.TokenConfig.AccessTokenInactivityTimeout}
	if own := spec.TokenConfig.AccessTokenMaxAgeSeconds; own > 0 {
		tokens.AccessTokenMaxAgeSeconds = own
	}
	return component.YAML(osinv1.OsinServerConfig{
		TypeMeta: metav1.TypeMeta{Kind: "OsinServerConfig", APIVersion: osinv1.GroupVersion.String()},
		GenericAPIServerConfig: configv1.GenericAPIServerConfig{
			ServingInfo: serving,
			KubeClientConfig: configv1.KubeClientConfig{KubeConfig: component.NetworkKubeconfig,
				ConnectionOverrides: configv1.ClientConnectionOverrides{QPS: 400, Burst: 400}},
		},
		OAuthConfig: osinv1.OAuthConfig{
			MasterCA:          ptr.To("/etc/kubernetes/certs/master-ca/ca.crt"),
			MasterURL:         fmt.Sprintf("https://%s:%d", serviceHost(ctx.HCP), port),
			MasterPublicURL:   endpoints.OAuth.URL(),
			LoginURL:          loginURL(ctx.HCP, endpoints.APIServer),
			IdentityProviders: providers.List,
			GrantConfig:       osinv1.GrantConfig{Method: "deny", ServiceAccountMethod: "prompt"},
			SessionConfig: &osinv1.SessionConfig{SessionMaxAgeSeconds: authorizeLife, SessionName: "ssn",
				SessionSecretsFile: "/etc/kubernetes/secrets/session/" + sessionKey},
			Templates: &osinv1.OAuthTemplates{Login: templatesDir + "/login/login.html",
				ProviderSelection: templatesDir + "/providers/providers.html", Error: templatesDir + "/error/errors.html"},
			TokenConfig: tokens,
		},
	})
}

func loginURL(hcp *hyperv1.HostedControlPlane, api publish.Endpoint) string {
	if own := hcp.Annotations[hyperv1.LoginURLOverrideAnnotation]; own != "" {
		return own
	}
	if name := hcp.Spec.KubeAPIServerDNSName; name != "" {
		api.Host = name
	}
	return api.URL()
}

// sessionOf is the Secret that encrypts the sessions of browsers: the one that is there as long as it is of use.
func sessionOf(ctx *component.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: sessionSecret}}
	have, err := ctx.Secret(sessionSecret)
	var missing *component.MissingInputError
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	content := osinv1.SessionSecrets{}
	if yaml.Unmarshal(have[sessionKey], &content) == nil && len(content.Secrets) > 0 &&
		content.Secrets[0].Authentication != "" && content.Secrets[0].Encryption != "" {
		secret.Data = map[string][]byte{sessionKey: have[sessionKey]}
		return secret, nil
	}
	content = osinv1.SessionSecrets{TypeMeta: metav1.TypeMeta{Kind: "SessionSecrets", APIVersion: "v1"},
		Secrets: []osinv1.SessionSecret{{Authentication: random(64), Encryption: random(32)}}}
	text, err := component.YAML(content)
	if err != nil {
		return nil, err
	}
	secret.Data = map[string][]byte{sessionKey: []byte(text)}
	return secret, nil
}

// random letters of URL-safe base64.
func random(length int) string {
	raw := make([]byte, length)
	_, _ = rand.Read(raw) // it ends the program rather than fail
	return base64.RawURLEncoding.EncodeToString(raw)[:length]
}

// trustOf is by what the server, and who redirects to it, trusts the published API server and itself.
func trustOf(ctx *component.Context, settings clusterconfig.APIServer) (string, error) {
	var parts []string
	add := func(data map[string][]byte, keys ...string) {
		for _, key := range keys {
			if text := strings.TrimSpace(string(data[key])); text != "" {
				parts = append(parts, text)
				return
			}
		}
	}
	own, err := ctx.Secret(servingSecret)
	if err != nil {
		return "", err
	}
	add(own, contract.CAKey, corev1.TLSCertKey)
	for _, named := range settings.Serving() {
		data, err := ctx.Secret(named.ServingCertificate.Name)
		if err != nil {
			return "", err
		}
		add(data, contract.CAKey, corev1.TLSCertKey)
	}
	bundles := []string{}
	if ctx.HCP.Spec.AdditionalTrustBundle != nil {
		bundles = append(bundles, contract.UserCABundle)
	}
	if c := ctx.HCP.Spec.Configuration; c != nil && c.Proxy != nil && c.Proxy.TrustedCA != nil && c.Proxy.TrustedCA.Name != "" {
		bundles = append(bundles, c.Proxy.TrustedCA.Name)
	}
	for _, name := range bundles {
		data, err := ctx.ConfigMap(name)
		if err != nil {
			return "", err
		}
		add(data, hyperv1.TrustBundleKey)
	}
	return strings.Join(parts, "\n") + "\n", nil
}

// passwordHash is that of kubeadmin's password, which the config operator notes on its Secret; empty without one.
func passwordHash(ctx *component.Context) (string, error) {
	secret := &corev1.Secret{}
	err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: ctx.Namespace(), Name: KubeadminSecret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Secret %s: %w", KubeadminSecret, err)
	}
	return secret.Annotations[contract.KubeadminHash], nil
}
