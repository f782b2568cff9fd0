package oauthserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	osinv1 "github.com/openshift/api/osin/v1"
)

var entra = OpenID{URLs: osinv1.OpenIDURLs{Authorize: "https://id.example.com/authorize", Token: "https://id.example.com/token"}}

func source(overrides map[string]string) Source {
	return Source{
		Override: func(provider string) string { return overrides[provider] },
		Discover: func(_ context.Context, p configv1.OpenIDIdentityProvider) (OpenID, error) {
			if p.Issuer != "https://id.example.com" {
				return OpenID{}, errors.New("nobody answers")
			}
			return entra, nil
		},
	}
}

func providers(t *testing.T, text string) []configv1.IdentityProvider {
	t.Helper()
	var list []configv1.IdentityProvider
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Every kind of provider: what the server is told, and the files that it is told of.
func TestConvert(t *testing.T) {
	for name, c := range map[string]struct {
		provider         string
		challenge, login bool
		want             string
		volumes          []string
	}{
		"BasicAuth": {`{"basicAuth":{"url":"https://b.example.com","ca":{"name":"ca"},"tlsClientCert":{"name":"cert"},"tlsClientKey":{"name":"key"}}}`, true, true,
			`{"kind":"BasicAuthPasswordIdentityProvider","apiVersion":"osin.config.openshift.io/v1","url":"https://b.example.com","ca":"/etc/oauth/idp/idp_cm_0_ca/ca.crt","certFile":"/etc/oauth/idp/idp_secret_0_tls-client-cert/tls.crt","keyFile":"/etc/oauth/idp/idp_secret_0_tls-client-key/tls.key"}`,
			[]string{"idp-cm-0-ca=ca", "idp-secret-0-tls-client-cert=cert", "idp-secret-0-tls-client-key=key"}},
		"GitHub": {`{"github":{"clientID":"id","clientSecret":{"name":"s"},"organizations":["o"],"teams":["o/t"],"hostname":"gh.example.com","ca":{"name":"ca"}}}`, false, true,
			`{"kind":"GitHubIdentityProvider","apiVersion":"osin.config.openshift.io/v1","clientID":"id","clientSecret":{"value":"","env":"","file":"/etc/oauth/idp/idp_secret_0_client-secret/clientSecret","keyFile":""},"organizations":["o"],"teams":["o/t"],"hostname":"gh.example.com","ca":"/etc/oauth/idp/idp_cm_0_ca/ca.crt"}`,
			[]string{"idp-secret-0-client-secret=s", "idp-cm-0-ca=ca"}},
		"GitLab": {`{"gitlab":{"clientID":"id","clientSecret":{"name":"s"},"url":"https://gl.example.com"}}`, true, true,
			`{"kind":"GitLabIdentityProvider","apiVersion":"osin.config.openshift.io/v1","ca":"","url":"https://gl.example.com","clientID":"id","clientSecret":{"value":"","env":"","file":"/etc/oauth/idp/idp_secret_0_client-secret/clientSecret","keyFile":""},"legacy":false}`,
			[]string{"idp-secret-0-client-secret=s"}},
		"Google": {`{"google":{"clientID":"id","clientSecret":{"name":"s"},"hostedDomain":"example.com"}}`, false, true,
			`{"kind":"GoogleIdentityProvider","apiVersion":"osin.config.openshift.io/v1","clientID":"id","clientSecret":{"value":"","env":"","file":"/etc/oauth/idp/idp_secret_0_client-secret/clientSecret","keyFile":""},"hostedDomain":"example.com"}`,
			[]string{"idp-secret-0-client-secret=s"}},
		"HTPasswd": {`{"htpasswd":{"fileData":{"name":"users"}}}`, true, true,
			`{"kind":"HTPasswdPasswordIdentityProvider","apiVersion":"osin.config.openshift.io/v1","file":"/etc/oauth/idp/idp_secret_0_file-data/htpasswd"}`,
			[]string{"idp-secret-0-file-data=users"}},
		"Keystone": {`{"keystone":{"url":"https://k.example.com","domainName":"d","ca":{"name":"ca"}}}`, true, true,
			`{"kind":"KeystonePasswordIdentityProvider","apiVersion":"osin.config.openshift.io/v1","url":"https://k.example.com","ca":"/etc/oauth/idp/idp_cm_0_ca/ca.crt","certFile":"","keyFile":"","domainName":"d","useKeystoneIdentity":true}`,
			[]string{"idp-cm-0-ca=ca"}},
		"LDAP": {`{"ldap":{"url":"ldaps://l.example.com/o=x","bindDN":"cn=a","bindPassword":{"name":"p"},"attributes":{"id":["dn"],"email":["mail"]}}}`, true, true,
			`{"kind":"LDAPPasswordIdentityProvider","apiVersion":"osin.config.openshift.io/v1","url":"ldaps://l.example.com/o=x","bindDN":"cn=a","bindPassword":{"value":"","env":"","file":"/etc/oauth/idp/idp_secret_0_bind-password/bindPassword","keyFile":""},"insecure":false,"ca":"","attributes":{"id":["dn"],"preferredUsername":null,"name":null,"email":["mail"]}}`,
			[]string{"idp-secret-0-bind-password=p"}},
		"OpenID": {`{"openID":{"clientID":"id","clientSecret":{"name":"s"},"issuer":"https://id.example.com","extraScopes":["email"],"claims":{"preferredUsername":["upn"],"groups":["groups"]}}}`, false, true,
			`{"kind":"OpenIDIdentityProvider","apiVersion":"osin.config.openshift.io/v1","ca":"","clientID":"id","clientSecret":{"value":"","env":"","file":"/etc/oauth/idp/idp_secret_0_client-secret/clientSecret","keyFile":""},"extraScopes":["email"],"extraAuthorizeParameters":null,"urls":{"authorize":"https://id.example.com/authorize","token":"https://id.example.com/token","userInfo":""},"claims":{"id":["sub"],"preferredUsername":["upn"],"name":null,"email":null,"groups":["groups"]}}`,
			[]string{"idp-secret-0-client-secret=s"}},
		"RequestHeader": {`{"requestHeader":{"loginURL":"https://sso.example.com/?q=${url}","ca":{"name":"ca"},"headers":["X-User"]}}`, false, true,
			`{"kind":"RequestHeaderIdentityProvider","apiVersion":"osin.config.openshift.io/v1","loginURL":"https://sso.example.com/?q=${url}","challengeURL":"","clientCA":"/etc/oauth/idp/idp_cm_0_ca/ca.crt","clientCommonNames":null,"headers":["X-User"],"preferredUsernameHeaders":null,"nameHeaders":null,"emailHeaders":null}`,
			[]string{"idp-cm-0-ca=ca"}},
	} {
		list := providers(t, "["+c.provider+"]")
		list[0].Name, list[0].Type = "mine", configv1.IdentityProviderType(name)
		got, err := Convert(t.Context(), list, source(nil))
		if err != nil || len(got.List) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		one := got.List[0]
		var have, want any
		if err := errors.Join(json.Unmarshal(one.Provider.Raw, &have), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if h, w := mustJSON(have), mustJSON(want); h != w {
			t.Errorf("%s is told\n%s, want\n%s", name, h, w)
		}
		if one.Name != "mine" || one.MappingMethod != "claim" || one.UseAsChallenger != c.challenge || one.UseAsLogin != c.login {
			t.Errorf("%s: %+v", name, one)
		}
		var volumes []string
		for i, v := range got.Volumes {
			of := ""
			if v.Secret != nil {
				of = v.Secret.SecretName
			} else {
				of = v.ConfigMap.Name
			}
			volumes = append(volumes, v.Name+"="+of)
			if m := got.Mounts[i]; m.Name != v.Name || !strings.Contains(c.want, m.MountPath+"/") {
				t.Errorf("%s: nobody is told of the mount %+v", name, m)
			}
		}
		if !slices.Equal(volumes, c.volumes) {
			t.Errorf("%s mounts %v, want %v", name, volumes, c.volumes)
		}
	}
}

func mustJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// One provider that cannot be made takes no other with it, and leaves nothing mounted.
func TestConvertLeavesOutWhatIsWrong(t *testing.T) {
	list := providers(t, `[
		{"name":"typo","type":"HTPassword","htpasswd":{"fileData":{"name":"users"}}},
		{"name":"empty","type":"GitHub"},
		{"name":"away","type":"OpenID","openID":{"clientID":"id","clientSecret":{"name":"s"},"issuer":"https://other.example.com"}},
		{"name":"open","type":"RequestHeader","requestHeader":{"loginURL":"https://x"}},
		{"name":"plain","type":"BasicAuth","basicAuth":{"url":"http://x"}},
		{"name":"bare","type":"OpenID","openID":{"clientID":"id","issuer":"https://id.example.com"}},
		{"name":"good","type":"HTPasswd","mappingMethod":"add","htpasswd":{"fileData":{"name":"users"}}}]`)
	got, err := Convert(t.Context(), list, source(nil))
	if len(got.List) != 1 || got.List[0].Name != "good" || got.List[0].MappingMethod != "add" || len(got.Volumes) != 1 || got.Volumes[0].Name != "idp-secret-6-file-data" {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{`"typo" (spec.configuration.oauth.identityProviders[0]): its type is "HTPassword"; use BasicAuth`, `"empty"`, "it has no github",
		`"away"`, "nobody answers", `"open"`, "names no ca", `"plain"`, "not an https URL", `"bare"`, "names no Secret"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// The annotation takes the place of what the server says, claims included; it is held to the same rule.
func TestOverride(t *testing.T) {
	list := providers(t, `[{"name":"mine","type":"OpenID","openID":{"clientID":"id","clientSecret":{"name":"s"},"issuer":"https://other.example.com","claims":{"email":["mail"]}}}]`)
	got, err := Convert(t.Context(), list, source(map[string]string{"mine": `{"urls":{"authorize":"https://a/x","token":"https://a/y"},"claims":{"id":["oid"]},"challenge":true}`}))
	if err != nil || len(got.List) != 1 || !got.List[0].UseAsChallenger {
		t.Fatalf("%+v: %v", got, err)
	}
	if text := string(got.List[0].Provider.Raw); !strings.Contains(text, `"id":["oid"]`) || !strings.Contains(text, `"authorize":"https://a/x"`) || strings.Contains(text, `["mail"]`) {
		t.Error(text)
	}
	for _, wrong := range []string{"{", `{"urls":{"authorize":"http://a/x","token":"https://a/y"}}`} {
		if got, err := Convert(t.Context(), list, source(map[string]string{"mine": wrong})); err == nil || len(got.List) != 0 {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestDiscover(t *testing.T) {
	var token string
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	mux.HandleFunc("GET /t/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"authorization_endpoint":"` + server.URL + `/a","token_endpoint":"` + server.URL + `/token","userinfo_endpoint":"` + server.URL + `/u"}`))
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") != "password" || r.FormValue("scope") != "openid" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte(token))
	})
	mux.HandleFunc("GET /plain/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"authorization_endpoint":"http://a","token_endpoint":"https://b"}`))
	})
	ask := func(issuer string) (OpenID, error) {
		return discover(t.Context(), server.Client(), configv1.OpenIDIdentityProvider{Issuer: issuer})
	}
	for answer, want := range map[string]bool{`{"error":"invalid_grant"}`: true, `{"access_token":"x"}`: true, `{"error":"unsupported_grant_type"}`: false, "<html>": false} {
		token = answer
		got, err := ask(server.URL + "/t")
		if err != nil || got.Passwords != want || got.URLs.UserInfo != server.URL+"/u" {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
	for _, issuer := range []string{server.URL, server.URL + "/plain", strings.Replace(server.URL, "https", "http", 1) + "/t", "https://[", ""} {
		if _, err := ask(issuer); err == nil {
			t.Errorf("issuer %q is taken", issuer)
		}
	}
}

// Whatever a user writes: no panic, and the server is told of files that are mounted, and of no provider twice.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(`[{"name":"a","type":"HTPasswd","htpasswd":{"fileData":{"name":"u"}}},{"type":"LDAP","ldap":{}}]`), "")
	f.Add([]byte(`[{"name":"a","type":"OpenID","openID":{"clientSecret":{"name":"s"},"issuer":"https://id.example.com"}}]`), `{"urls":{}}`)
	f.Add([]byte(`[{"type":"RequestHeader","requestHeader":{"ca":{"name":"x"}}},{"type":"Keystone","keystone":{"url":"https://k"}}]`), "{")
	f.Fuzz(func(t *testing.T, text []byte, override string) {
		var list []configv1.IdentityProvider
		if json.Unmarshal(text, &list) != nil {
			return
		}
		source := source(nil)
		source.Override = func(string) string { return override }
		got, err := Convert(t.Context(), list, source)
		if err == nil && len(got.List) != len(list) || len(got.List) > len(list) {
			t.Errorf("%d of %d providers, and %v", len(got.List), len(list), err)
		}
		if len(got.Volumes) != len(got.Mounts) {
			t.Errorf("%d volumes and %d mounts", len(got.Volumes), len(got.Mounts))
		}
		names := map[string]bool{}
		for _, v := range got.Volumes {
			if names[v.Name] {
				t.Errorf("volume %s twice", v.Name)
			}
			names[v.Name] = true
		}
		for _, one := range got.List {
			if !json.Valid(one.Provider.Raw) {
				t.Errorf("%s is no JSON", one.Provider.Raw)
			}
		}
	})
}

// Whatever a server says of itself: addresses that are accepted are https.
func FuzzDiscovery(f *testing.F) {
	f.Add([]byte(`{"authorization_endpoint":"https://a","token_endpoint":"https://b"}`))
	f.Add([]byte(`{"token_endpoint":"file:///etc/passwd"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		urls, err := parseDiscovery(text)
		if err == nil && checkURLs(urls) == nil && !(strings.HasPrefix(strings.ToLower(urls.Token), "https:") && strings.HasPrefix(strings.ToLower(urls.Authorize), "https:")) {
			t.Errorf("%+v is taken", urls)
		}
	})
}
