package hostedcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// configurationPaths are the places in the types of config.openshift.io/v1 that name a Secret or ConfigMap. "[]" goes through a list.
var configurationPaths = []struct {
	kind, path string
	keys       []string
}{
	{kind: configMapKind, path: "apiServer.clientCA", keys: []string{hyperv1.TrustBundleKey}},
	{kind: secretKind, path: "apiServer.servingCerts.namedCertificates[].servingCertificate"},
	{kind: secretKind, path: "authentication.webhookTokenAuthenticator.kubeConfig"},
	{kind: configMapKind, path: "authentication.oauthMetadata"},
	{kind: configMapKind, path: "authentication.oidcProviders[].issuer.issuerCertificateAuthority", keys: []string{hyperv1.TrustBundleKey}},
	{kind: secretKind, path: "authentication.oidcProviders[].oidcClients[].clientSecret"},
	{kind: configMapKind, path: "image.additionalTrustedCA"},
	{kind: secretKind, path: "ingress.componentRoutes[].servingCertKeyPairSecret"},
	{kind: secretKind, path: "oauth.templates.error"},
	{kind: secretKind, path: "oauth.templates.login"},
	{kind: secretKind, path: "oauth.templates.providerSelection"},
	{kind: configMapKind, path: "oauth.identityProviders[].basicAuth.ca"},
	{kind: secretKind, path: "oauth.identityProviders[].basicAuth.tlsClientCert"},
	{kind: secretKind, path: "oauth.identityProviders[].basicAuth.tlsClientKey"},
	{kind: configMapKind, path: "oauth.identityProviders[].github.ca"},
	{kind: secretKind, path: "oauth.identityProviders[].github.clientSecret"},
	{kind: configMapKind, path: "oauth.identityProviders[].gitlab.ca"},
	{kind: secretKind, path: "oauth.identityProviders[].gitlab.clientSecret"},
	{kind: secretKind, path: "oauth.identityProviders[].google.clientSecret"},
	{kind: secretKind, path: "oauth.identityProviders[].htpasswd.fileData"},
	{kind: configMapKind, path: "oauth.identityProviders[].keystone.ca"},
	{kind: secretKind, path: "oauth.identityProviders[].keystone.tlsClientCert"},
	{kind: secretKind, path: "oauth.identityProviders[].keystone.tlsClientKey"},
	{kind: configMapKind, path: "oauth.identityProviders[].ldap.ca"},
	{kind: secretKind, path: "oauth.identityProviders[].ldap.bindPassword"},
	{kind: configMapKind, path: "oauth.identityProviders[].openID.ca"},
	{kind: secretKind, path: "oauth.identityProviders[].openID.clientSecret"},
	{kind: configMapKind, path: "oauth.identityProviders[].requestHeader.ca"},
	{kind: configMapKind, path: "scheduler.policy"},
}

// configurationReferences finds what spec.configuration names.
func configurationReferences(configuration *hyperv1.ClusterConfiguration) ([]reference, error) {
	if configuration == nil {
		return nil, nil
	}
	content, err := configurationContent(configuration)
	var found []reference
	for _, place := range configurationPaths {
		walk(content, strings.Split(place.path, "."), "spec.configuration", func(field string, value any) {
			named, _ := value.(map[string]any)
			name, _ := named["name"].(string)
			found = append(found, reference{field: field, kind: place.kind, name: name, keys: place.keys, whole: true})
		})
	}
	if proxy := configuration.Proxy; proxy != nil {
		found = append(found, reference{
			field: "spec.configuration.proxy.trustedCA", kind: configMapKind, name: nameOf(proxy.TrustedCA), keys: []string{hyperv1.TrustBundleKey}, whole: true,
			transform: certificatesIn(hyperv1.TrustBundleKey), reports: hyperv1.ValidProxyConfiguration,
		})
	}
	return found, err
}

// configurationContent decodes the members that the API carries unchanged. The schema has checked them; a member that is malformed
// all the same is left out and told.
func configurationContent(configuration *hyperv1.ClusterConfiguration) (map[string]any, error) {
	content := map[string]any{}
	var problems []error
	for member, raw := range map[string]*runtime.RawExtension{
		"apiServer": configuration.APIServer, "authentication": configuration.Authentication, "image": configuration.Image,
		"ingress": configuration.Ingress, "oauth": configuration.OAuth, "scheduler": configuration.Scheduler,
	} {
		if raw == nil || len(raw.Raw) == 0 {
			continue
		}
		decoded := map[string]any{}
		if err := json.Unmarshal(raw.Raw, &decoded); err != nil {
			problems = append(problems, fmt.Errorf("spec.configuration.%s cannot be read: %w", member, err))
			continue
		}
		content[member] = decoded
	}
	return content, errors.Join(problems...)
}

// walk calls visit for every value at the path, with the full name of its place.
func walk(value any, path []string, place string, visit func(string, any)) {
	if len(path) == 0 {
		visit(place, value)
		return
	}
	members, ok := value.(map[string]any)
	if !ok {
		return
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	next, ok := members[name]
	if !ok {
		return
	}
	place += "." + name
	if !isList {
		walk(next, path[1:], place, visit)
		return
	}
	items, _ := next.([]any)
	for i, item := range items {
		walk(item, path[1:], fmt.Sprintf("%s[%d]", place, i), visit)
	}
}
