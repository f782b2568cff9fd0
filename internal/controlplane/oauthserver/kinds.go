package oauthserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	configv1 "github.com/openshift/api/config/v1"
	osinv1 "github.com/openshift/api/osin/v1"
	"k8s.io/utils/ptr"
)

func (c *conversion) basicAuth(from *configv1.BasicAuthIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("basicAuth")
	}
	if err := https("basicAuth.url", from.URL); err != nil {
		return nil, err
	}
	return &osinv1.BasicAuthPasswordIdentityProvider{TypeMeta: kind("BasicAuthPassword"), RemoteConnectionInfo: c.remote(from.OAuthRemoteConnectionInfo)}, nil
}

func (c *conversion) gitHub(from *configv1.GitHubIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("github")
	}
	c.challenge = false
	secret, err := c.clientSecret(from.ClientSecret.Name)
	return &osinv1.GitHubIdentityProvider{TypeMeta: kind("GitHub"), ClientID: from.ClientID, ClientSecret: secret,
		Organizations: from.Organizations, Teams: from.Teams, Hostname: from.Hostname, CA: c.authority(from.CA.Name)}, err
}

func (c *conversion) gitLab(from *configv1.GitLabIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("gitlab")
	}
	if err := https("gitlab.url", from.URL); err != nil {
		return nil, err
	}
	secret, err := c.clientSecret(from.ClientSecret.Name)
	return &osinv1.GitLabIdentityProvider{TypeMeta: kind("GitLab"), URL: from.URL, ClientID: from.ClientID, ClientSecret: secret,
		CA: c.authority(from.CA.Name), Legacy: ptr.To(false)}, err
}

func (c *conversion) google(from *configv1.GoogleIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("google")
	}
	c.challenge = false
	secret, err := c.clientSecret(from.ClientSecret.Name)
	return &osinv1.GoogleIdentityProvider{TypeMeta: kind("Google"), ClientID: from.ClientID, ClientSecret: secret, HostedDomain: from.HostedDomain}, err
}

func (c *conversion) htpasswd(from *configv1.HTPasswdIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("htpasswd")
	}
	file, err := c.required("file-data", from.FileData.Name, "htpasswd")
	return &osinv1.HTPasswdPasswordIdentityProvider{TypeMeta: kind("HTPasswdPassword"), File: file.File}, err
}

func (c *conversion) keystone(from *configv1.KeystoneIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("keystone")
	}
	if err := https("keystone.url", from.URL); err != nil {
		return nil, err
	}
	return &osinv1.KeystonePasswordIdentityProvider{TypeMeta: kind("KeystonePassword"), RemoteConnectionInfo: c.remote(from.OAuthRemoteConnectionInfo),
		DomainName: from.DomainName, UseKeystoneIdentity: true}, nil
}

func (c *conversion) ldap(from *configv1.LDAPIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("ldap")
	}
	out := &osinv1.LDAPPasswordIdentityProvider{TypeMeta: kind("LDAPPassword"), URL: from.URL, BindDN: from.BindDN, Insecure: from.Insecure,
		Attributes: osinv1.LDAPAttributeMapping{ID: from.Attributes.ID, PreferredUsername: from.Attributes.PreferredUsername,
			Name: from.Attributes.Name, Email: from.Attributes.Email}}
	if name := from.BindPassword.Name; name != "" {
		out.BindPassword.File = c.secret("bind-password", name, "bindPassword")
	}
	out.CA = c.authority(from.CA.Name)
	return out, nil
}

func (c *conversion) requestHeader(from *configv1.RequestHeaderIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("requestHeader")
	}
	if from.ClientCA.Name == "" {
		return nil, errors.New("requestHeader names no ca: whoever reached the OAuth server could say who he is")
	}
	c.challenge, c.login = from.ChallengeURL != "", from.LoginURL != ""
	return &osinv1.RequestHeaderIdentityProvider{TypeMeta: kind("RequestHeader"), LoginURL: from.LoginURL, ChallengeURL: from.ChallengeURL,
		ClientCA: c.authority(from.ClientCA.Name), ClientCommonNames: from.ClientCommonNames, Headers: from.Headers,
		PreferredUsernameHeaders: from.PreferredUsernameHeaders, NameHeaders: from.NameHeaders, EmailHeaders: from.EmailHeaders}, nil
}

// override is the content of annotation idpoverrides.hypershift.openshift.io/PROVIDER.
type override struct {
	URLs      osinv1.OpenIDURLs   `json:"urls"`
	Claims    osinv1.OpenIDClaims `json:"claims"`
	Challenge bool                `json:"challenge"`
}

func (c *conversion) openID(ctx context.Context, from *configv1.OpenIDIdentityProvider) (any, error) {
	if from == nil {
		return nil, c.errNoSection("openID")
	}
	secret, err := c.clientSecret(from.ClientSecret.Name)
	if err != nil {
		return nil, err
	}
	out := &osinv1.OpenIDIdentityProvider{TypeMeta: kind("OpenID"), ClientID: from.ClientID, ClientSecret: secret,
		ExtraScopes: from.ExtraScopes, ExtraAuthorizeParameters: from.ExtraAuthorizeParameters,
		Claims: osinv1.OpenIDClaims{ID: []string{"sub"}, PreferredUsername: from.Claims.PreferredUsername, Name: from.Claims.Name, Email: from.Claims.Email}}
	for _, group := range from.Claims.Groups {
		out.Claims.Groups = append(out.Claims.Groups, string(group))
	}
	out.CA = c.authority(from.CA.Name)
	if text := c.source.Override(c.provider.Name); text != "" {
		var own override
		if err := json.Unmarshal([]byte(text), &own); err != nil {
			return nil, fmt.Errorf("its override is not JSON with urls, claims and challenge: %w", err)
		}
		out.URLs, out.Claims, c.challenge = own.URLs, own.Claims, own.Challenge
		return out, checkURLs(out.URLs)
	}
	server, err := c.source.Discover(ctx, *from)
	if err != nil {
		return nil, err
	}
	out.URLs, c.challenge = server.URLs, server.Passwords
	return out, checkURLs(out.URLs)
}

// checkURLs refuses a server that would be spoken to without encryption.
func checkURLs(urls osinv1.OpenIDURLs) error {
	err := errors.Join(https("the authorization endpoint", urls.Authorize), https("the token endpoint", urls.Token))
	if urls.UserInfo != "" {
		err = errors.Join(err, https("the user info endpoint", urls.UserInfo))
	}
	return err
}

func https(what, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return fmt.Errorf("%s, %q, is not an https URL without a fragment", what, text)
	}
	return nil
}
