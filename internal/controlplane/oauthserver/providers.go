package oauthserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	osinv1 "github.com/openshift/api/osin/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const providerDir = "/etc/oauth/idp"

// OpenID is what a server of that kind says of itself.
type OpenID struct {
	URLs osinv1.OpenIDURLs
	// Passwords tells whether it takes a user's name and password for a token, as the command line sends them.
	Passwords bool
}

// Source reads what identity providers follow from beside their configuration.
type Source struct {
	// Override is the user's own account of a provider, JSON; empty without one.
	Override func(provider string) string
	// Discover asks the server of an OpenID provider.
	Discover func(ctx context.Context, provider configv1.OpenIDIdentityProvider) (OpenID, error)
}

// Providers are the identity providers as the OAuth server takes them, and the files that they name.
type Providers struct {
	List    []osinv1.IdentityProvider
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
}

// Convert makes the OAuth server's providers of the user's. One that cannot be made is left out, and the error says why; the others stay.
func Convert(ctx context.Context, wanted []configv1.IdentityProvider, source Source) (Providers, error) {
	var out Providers
	var problems []error
	for i, provider := range wanted {
		c := conversion{index: i, provider: provider, source: source, challenge: true, login: true}
		config, err := c.convert(ctx)
		var raw []byte
		if err == nil {
			raw, err = json.Marshal(config)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("identity provider %q (spec.configuration.oauth.identityProviders[%d]): %w", provider.Name, i, err))
			continue
		}
		mapping := string(provider.MappingMethod)
		if mapping == "" {
			mapping = string(configv1.MappingMethodClaim)
		}
		out.List = append(out.List, osinv1.IdentityProvider{Name: provider.Name, MappingMethod: mapping,
			UseAsChallenger: c.challenge, UseAsLogin: c.login, Provider: runtime.RawExtension{Raw: raw}})
		out.Volumes, out.Mounts = append(out.Volumes, c.volumes...), append(out.Mounts, c.mounts...)
	}
	return out, errors.Join(problems...)
}

// conversion is the making of one provider.
type conversion struct {
	index    int
	provider configv1.IdentityProvider
	source   Source
	// challenge and login are where the provider can be asked: by clients without a browser, and in one.
	challenge, login bool
	volumes          []corev1.Volume
	mounts           []corev1.VolumeMount
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: name + "IdentityProvider", APIVersion: osinv1.GroupVersion.String()}
}

// errNoSection is a provider whose type and content do not fit.
func (c *conversion) errNoSection(section string) error {
	return fmt.Errorf("its type is %s, and it has no %s", c.provider.Type, section)
}

func (c *conversion) convert(ctx context.Context) (any, error) {
	p := c.provider
	switch p.Type {
	case configv1.IdentityProviderTypeBasicAuth:
		return c.basicAuth(p.BasicAuth)
	case configv1.IdentityProviderTypeGitHub:
		return c.gitHub(p.GitHub)
	case configv1.IdentityProviderTypeGitLab:
		return c.gitLab(p.GitLab)
	case configv1.IdentityProviderTypeGoogle:
		return c.google(p.Google)
	case configv1.IdentityProviderTypeHTPasswd:
		return c.htpasswd(p.HTPasswd)
	case configv1.IdentityProviderTypeKeystone:
		return c.keystone(p.Keystone)
	case configv1.IdentityProviderTypeLDAP:
		return c.ldap(p.LDAP)
	case configv1.IdentityProviderTypeOpenID:
		return c.openID(ctx, p.OpenID)
	case configv1.IdentityProviderTypeRequestHeader:
		return c.requestHeader(p.RequestHeader)
	}
	return nil, fmt.Errorf("its type is %q; use BasicAuth, GitHub, GitLab, Google, HTPasswd, Keystone, LDAP, OpenID or RequestHeader", p.Type)
}

// secret mounts a Secret for a field and returns the file that has the key.
func (c *conversion) secret(field, name, key string) string {
	if name == "" {
		return ""
	}
	return c.mount(fmt.Sprintf("idp-secret-%d-%s", c.index, field), fmt.Sprintf("idp_secret_%d_%s", c.index, field), key,
		func(volume string) corev1.Volume { return component.SecretVolume(volume, name) })
}

// authority mounts the ConfigMap of a field ca.
func (c *conversion) authority(name string) string {
	if name == "" {
		return ""
	}
	const field, key = "ca", contract.CAKey
	return c.mount(fmt.Sprintf("idp-cm-%d-%s", c.index, field), fmt.Sprintf("idp_cm_%d_%s", c.index, field), key,
		func(volume string) corev1.Volume { return component.ConfigMapVolume(volume, name) })
}

func (c *conversion) mount(volume, dir, key string, make func(string) corev1.Volume) string {
	c.volumes = append(c.volumes, make(volume))
	c.mounts = append(c.mounts, corev1.VolumeMount{Name: volume, MountPath: providerDir + "/" + dir, ReadOnly: true})
	return providerDir + "/" + dir + "/" + key
}

func (c *conversion) remote(from configv1.OAuthRemoteConnectionInfo) configv1.RemoteConnectionInfo {
	return configv1.RemoteConnectionInfo{URL: from.URL, CA: c.authority(from.CA.Name), CertInfo: configv1.CertInfo{
		CertFile: c.secret("tls-client-cert", from.TLSClientCert.Name, corev1.TLSCertKey),
		KeyFile:  c.secret("tls-client-key", from.TLSClientKey.Name, corev1.TLSPrivateKeyKey)}}
}

// required is a file that the provider cannot do without.
func (c *conversion) required(field, name, key string) (configv1.StringSource, error) {
	if name == "" {
		return configv1.StringSource{}, fmt.Errorf("it names no Secret with the %s", key)
	}
	return configv1.StringSource{StringSourceSpec: configv1.StringSourceSpec{File: c.secret(field, name, key)}}, nil
}

func (c *conversion) clientSecret(name string) (configv1.StringSource, error) {
	return c.required("client-secret", name, "clientSecret")
}
