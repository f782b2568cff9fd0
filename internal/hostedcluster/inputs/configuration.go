package inputs

import (
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/checks"
)

// configurationPaths are the places in the types of config.openshift.io/v1 that name a Secret or ConfigMap. "[]" goes through a list.
var configurationPaths = []struct {
	kind, path string
	keys       []string
}{
	{kind: ConfigMapKind, path: "apiServer.clientCA", keys: []string{hyperv1.TrustBundleKey}},
	{kind: SecretKind, path: "apiServer.servingCerts.namedCertificates[].servingCertificate"},
	{kind: SecretKind, path: "authentication.webhookTokenAuthenticator.kubeConfig"},
	{kind: ConfigMapKind, path: "authentication.oauthMetadata"},
	{kind: ConfigMapKind, path: "authentication.oidcProviders[].issuer.issuerCertificateAuthority", keys: []string{hyperv1.TrustBundleKey}},
	{kind: SecretKind, path: "authentication.oidcProviders[].oidcClients[].clientSecret"},
	{kind: ConfigMapKind, path: "image.additionalTrustedCA"},
	{kind: SecretKind, path: "ingress.componentRoutes[].servingCertKeyPairSecret"},
	{kind: SecretKind, path: "oauth.templates.error"},
	{kind: SecretKind, path: "oauth.templates.login"},
	{kind: SecretKind, path: "oauth.templates.providerSelection"},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].basicAuth.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].basicAuth.tlsClientCert"},
	{kind: SecretKind, path: "oauth.identityProviders[].basicAuth.tlsClientKey"},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].github.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].github.clientSecret"},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].gitlab.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].gitlab.clientSecret"},
	{kind: SecretKind, path: "oauth.identityProviders[].google.clientSecret"},
	{kind: SecretKind, path: "oauth.identityProviders[].htpasswd.fileData"},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].keystone.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].keystone.tlsClientCert"},
	{kind: SecretKind, path: "oauth.identityProviders[].keystone.tlsClientKey"},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].ldap.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].ldap.bindPassword"},
	{kind: ConfigMapKind, path: "oauth.identityProviders[].openID.ca"},
	{kind: SecretKind, path: "oauth.identityProviders[].openID.clientSecret"},
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
			found = append(found, reference{field: field, kind: place.kind, name: name, keys: place.keys, whole: true})
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
