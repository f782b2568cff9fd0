package phase1

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// TestIssuerOnAStaticWebsite goes the way that our command offers where a policy forbids public blobs: Entra reads the documents there.
func TestIssuerOnAStaticWebsite(t *testing.T) {
	w := newErrorWorld(t)
	const account = "noonereadsthis"
	create := []string{"create", "oidc-issuer", "azure", "--name", "private", "--resource-group-name", "os4-common", "--storage-account-name", account, "--private-key", w.key, "--azure-creds", w.credentials}
	w.fault(fault.Rule{Preset: "public-access-disabled"})
	if stderr, err := w.run("", create...); err == nil || !strings.Contains(stderr, "--issuer-url ADDRESS") {
		t.Fatalf("%v\n%s", err, stderr)
	}
	w.enableWebsite(account)
	site := "https://" + account + ".z13.web.core.windows.net"
	elsewhere := append(create, "--issuer-url", site, "--output-dir", w.file("documents"), "--handoff", w.file("web.yaml"))
	if stderr, err := w.run("", elsewhere...); err == nil || !strings.Contains(stderr, "not published yet") {
		t.Fatalf("%v\n%s", err, stderr)
	}
	for _, name := range []string{".well-known/openid-configuration", "openid/v1/jwks"} {
		must(t, w.session.UploadBlob(context.Background(), account, "$web", name, "application/json", mustRead(t, filepath.Join(w.file("documents"), name))))
	}
	w.mustRun(elsewhere...)
	w.mustRun("create", "iam", "azure", "--name", "private", "--infra-id", "private-1", "--resource-group-name", "os4-common", "--oidc-issuer-url", site, "--azure-creds", w.credentials, "--output-file", w.file("web.json"))
	w.mustRun("verify", "azure", "--oidc-issuer-url", site, "--sa-token-issuer-private-key-path", w.key, "--workload-identities-file", w.file("web.json"), "--azure-creds", w.credentials)
}

// enableWebsite turns the static website of an account on, as the portal does.
func (w *errorWorld) enableWebsite(account string) {
	w.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {secret}, "scope": {"https://storage.azure.com/.default"}}
	resp, err := w.client.PostForm("https://login.microsoftonline.com/"+tenant+"/oauth2/v2.0/token", form)
	must(w.t, err)
	defer resp.Body.Close()
	var token struct {
		Value string `json:"access_token"`
	}
	must(w.t, json.NewDecoder(resp.Body).Decode(&token))
	req, err := http.NewRequest(http.MethodPut, "https://"+account+".blob.core.windows.net/?restype=service&comp=properties",
		strings.NewReader(`<StorageServiceProperties><StaticWebsite><Enabled>true</Enabled></StaticWebsite></StorageServiceProperties>`))
	must(w.t, err)
	req.Header.Set("Authorization", "Bearer "+token.Value)
	done, err := w.client.Do(req)
	must(w.t, err)
	defer done.Body.Close()
	if done.StatusCode != http.StatusAccepted {
		w.t.Fatalf("the website is refused: %s", done.Status)
	}
}
