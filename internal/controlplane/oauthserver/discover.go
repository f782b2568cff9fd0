package oauthserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	osinv1 "github.com/openshift/api/osin/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/egress"
)

const (
	discoveryLimit = 30 * time.Second
	// knownFor is how long the answer of a server is believed.
	knownFor = 10 * time.Minute
	// answerLimit is above what any server says of itself, in bytes.
	answerLimit = 1 << 20
)

// servers remembers what OpenID servers say of themselves, as every pass would ask them again.
type servers struct {
	mu      sync.Mutex
	answers map[string]answer
	// transport reaches a server whose certificate these authorities signed, PEM; empty are those of the system.
	transport func(authorities []byte) http.RoundTripper
	now       func() time.Time
}

type answer struct {
	OpenID
	err   error
	until time.Time
}

// known servers of this process.
var known = &servers{answers: map[string]answer{}, transport: reach, now: time.Now}

func reach(authorities []byte) http.RoundTripper {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(authorities) > 0 {
		base.TLSClientConfig.RootCAs = x509.NewCertPool()
		base.TLSClientConfig.RootCAs.AppendCertsFromPEM(authorities)
	}
	return egress.Policy{}.Transport(base)
}

// ask returns what the provider's server tells about itself; a recent answer is reused. configMap reads the ConfigMap that the provider names.
func (s *servers) ask(ctx context.Context, configMap func(name string) (map[string][]byte, error), provider configv1.OpenIDIdentityProvider) (OpenID, error) {
	var authorities []byte
	if name := provider.CA.Name; name != "" {
		data, err := configMap(name)
		if err != nil {
			return OpenID{}, err
		}
		authorities = data[contract.CAKey]
	}
	key := strings.Join([]string{provider.Issuer, provider.ClientID, string(authorities)}, "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.answers[key]; ok && s.now().Before(have.until) {
		return have.OpenID, have.err
	}
	limited, cancel := context.WithTimeout(ctx, discoveryLimit)
	defer cancel()
	client := &http.Client{Transport: s.transport(authorities)}
	defer client.CloseIdleConnections()
	found, err := discover(limited, client, provider)
	s.answers[key] = answer{found, err, s.now().Add(knownFor)}
	return found, err
}

// discover asks a server for its addresses, then whether it takes passwords.
func discover(ctx context.Context, client *http.Client, provider configv1.OpenIDIdentityProvider) (OpenID, error) {
	if err := https("openID.issuer", provider.Issuer); err != nil {
		return OpenID{}, err
	}
	address := strings.TrimSuffix(provider.Issuer, "/") + "/.well-known/openid-configuration"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return OpenID{}, fmt.Errorf("ask %s: %w", address, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return OpenID{}, fmt.Errorf("its server does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return OpenID{}, fmt.Errorf("its server answers %s with %s", address, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return OpenID{}, fmt.Errorf("read what %s says: %w", address, err)
	}
	urls, err := parseDiscovery(text)
	if err != nil {
		return OpenID{}, fmt.Errorf("read what %s says: %w", address, err)
	}
	if err := checkURLs(urls); err != nil {
		return OpenID{}, err
	}
	return OpenID{URLs: urls, Passwords: takesPasswords(ctx, client, urls.Token)}, nil
}

// parseDiscovery reads what a server says of itself.
func parseDiscovery(text []byte) (osinv1.OpenIDURLs, error) {
	var said struct {
		Authorize string `json:"authorization_endpoint"`
		Token     string `json:"token_endpoint"`
		UserInfo  string `json:"userinfo_endpoint"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return osinv1.OpenIDURLs{}, fmt.Errorf("it is not OpenID's JSON: %w", err)
	}
	return osinv1.OpenIDURLs{Authorize: said.Authorize, Token: said.Token, UserInfo: said.UserInfo}, nil
}

// takesPasswords asks for a token with a name and a password that nobody has: a server that knows the way refuses the password.
func takesPasswords(ctx context.Context, client *http.Client, address string) bool {
	form := url.Values{"grant_type": {"password"}, "scope": {"openid"}, "username": {"test"}, "password": {"test"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var said struct {
		Error string `json:"error"`
		Token string `json:"access_token"`
	}
	if json.NewDecoder(io.LimitReader(response.Body, answerLimit)).Decode(&said) != nil {
		return false
	}
	return said.Error == "invalid_grant" || said.Token != ""
}
