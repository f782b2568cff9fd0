package inputs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/checks"
)

// serving are the keys of a Secret with a serving or client certificate.
var serving = []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}

// configurationPaths are the places in the types of config.openshift.io/v1 that name a Secret or ConfigMap. "[]" goes through a list. What
// is named must have the keys; of a Secret, nothing is copied but these and the used ones.
var configurationPaths = []struct {
	kind, path string
	keys, used []string
}{
	{kind: ConfigMapKind, path: "apiServer.clientCA", keys: []string{hyperv1.TrustBundleKey}},
	{kind: SecretKind, path: "apiServer.servingCerts.namedCertificates[].servingCertificate", used: serving},
	{kind: SecretKind, path: "authentication.webhookTokenAuthenticator.kubeConfig", used: []string{"kubeConfig"}},
	{kind: ConfigMapKind, path: "authentication.oauthMetadata"},
	{kind: ConfigMapKind, path: "authentication.oidcProviders[].issuer.issuerCertificateAuthority", keys: []string{hyperv1.TrustBundleKey}},
	{kind: SecretKind, path: "authentication.oidcProviders[].oidcClients[].clientSecret", used: []string{"clientSecret"}},
	{kind: ConfigMapKind, path: "image.additionalTrustedCA"},
	{kind: SecretKind, path: "ingress.componentRoutes[].servingCertKeyPairSecret", used: serving},
	{kind: SecretKind, path: "oauth.templates.error", used: []string{"errors.html"}},
	{kind: SecretKind, path: "oauth.templates.login", used: []string{"login.html"}},
	{kind: SecretKind, path: "oauth.templates.providerSelection", used: []string{"providers.html"}},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].basicAuth.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].basicAuth.tlsClientCert", used: serving},
	{kind: SecretKind, path: "oauth.identityProviders[].basicAuth.tlsClientKey", used: serving},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].github.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].github.clientSecret", used: []string{"clientSecret"}},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].gitlab.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].gitlab.clientSecret", used: []string{"clientSecret"}},
	{kind: SecretKind, path: "oauth.identityProviders[].google.clientSecret", used: []string{"clientSecret"}},
	{kind: SecretKind, path: "oauth.identityProviders[].htpasswd.fileData", used: []string{"htpasswd"}},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].keystone.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].keystone.tlsClientCert", used: serving},
	{kind: SecretKind, path: "oauth.identityProviders[].keystone.tlsClientKey", used: serving},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].ldap.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].ldap.bindPassword", used: []string{"bindPassword"}},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].openID.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].openID.clientSecret", used: []string{"clientSecret"}},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].requestHeader.ca"},
	{kind: ConfigMapKind, path: "scheduler.policy"},
}

// configurationReferences finds what spec.configuration names.
func configurationReferences(configuration *hyperv1.ClusterConfiguration) ([]reference, error) {
	if configuration == nil {
		return nil, nil
	}
	content, err := checks.ConfigurationContent(configuration)
	var found []reference
	for _, place := range configurationPaths {
		checks.Walk(content, strings.Split(place.path, "."), "spec.configuration", func(field string, value any) {
			named, _ := value.(map[string]any)
			name, _ := named["name"].(string)
			found = append(found, reference{field: field, kind: place.kind, name: name, keys: place.keys, used: place.used, whole: true})
		})
	}
	if proxy := configuration.Proxy; proxy != nil {
		found = append(found, reference{
			field: "spec.configuration.proxy.trustedCA", kind: ConfigMapKind, name: nameOf(proxy.TrustedCA), keys: []string{hyperv1.TrustBundleKey}, whole: true,
			transform: certificatesIn(hyperv1.TrustBundleKey), reports: hyperv1.ValidProxyConfiguration,
		})
	}
	return found, err
}
