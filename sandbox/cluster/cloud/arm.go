package cloud

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// credentials is the service principal's file, in the form of the product.
type credentials struct {
	SubscriptionID string `json:"subscriptionId"`
	TenantID       string `json:"tenantId"`
	ClientID       string `json:"clientId"`
	ClientSecret   string `json:"clientSecret"`
}

// EnsureCredentials makes the service principal's file.
func EnsureCredentials(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o700); err != nil {
		return err
	}
	secret, err := wholefile.EnsureSecret(secretFile(dir))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(credentials{names.SubscriptionID, names.TenantID, names.ClientID, secret}, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.WriteIfChanged(CredentialsFile(dir), append(text, '\n'), 0o600)
}

// CredentialsFile is the service principal's, in the form the product reads.
func CredentialsFile(dir string) string { return filepath.Join(dir, "files", "azure-credentials.json") }

func secretFile(dir string) string { return filepath.Join(dir, "files", "client-secret") }

// ClientSecret is the service principal's secret.
func ClientSecret(dir string) (string, error) {
	text, err := os.ReadFile(secretFile(dir))
	return string(text), err
}

// arm is a client for the few calls that the sandbox itself makes. It goes the
// way every client goes: through the proxy, with the CA and a token.
type arm struct {
	http  *http.Client
	token string
}

// armScope is what a token for the resource manager is asked for with.
const armScope = "https://management.azure.com/.default"

func newARM(ctx context.Context, dir, scope string) (*arm, error) {
	pem, err := os.ReadFile(pki.CA(dir))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	proxy, err := url.Parse(names.LocalProxyURL)
	if err != nil {
		return nil, err
	}
	a := &arm{http: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
	}}
	return a, a.login(ctx, dir, scope)
}

func (a *arm) login(ctx context.Context, dir, scope string) error {
	secret, err := ClientSecret(dir)
	if err != nil {
		return err
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {names.ClientID}, "client_secret": {secret},
		"scope": {scope},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"https://login.microsoftonline.com/"+names.TenantID+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := a.do(request, &answer); err != nil {
		return fmt.Errorf("log in to the embedded Azure: %w", err)
	}
	a.token = answer.AccessToken
	return nil
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func (a *arm) do(request *http.Request, into any) error {
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return &statusError{response.StatusCode, fmt.Sprintf("%s %s: %s: %.300s", request.Method, request.URL.Path, response.Status, text)}
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (a *arm) call(ctx context.Context, method, id, version string, body, into any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://management.azure.com"+id+"?api-version="+version, reader)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	return a.do(request, into)
}
