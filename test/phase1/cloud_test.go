package phase1

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
)

// emptyCloud is a cloud in which everybody may sign in and nothing exists; it notes which hosts are called.
type emptyCloud struct {
	mu    sync.Mutex
	hosts map[string]bool
}

func (c *emptyCloud) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.hosts[r.URL.Host] = true
	c.mu.Unlock()
	status, body := http.StatusNotFound, `{"error":{"code":"ResourceNotFound","message":"nothing is here"}}`
	authority := "https://" + r.URL.Host + "/" + tenant
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/discovery/instance"):
		status, body = http.StatusOK, fmt.Sprintf(`{"tenant_discovery_endpoint":"%s/v2.0/.well-known/openid-configuration","metadata":[]}`, authority)
	case strings.HasSuffix(path, "openid-configuration"):
		status, body = http.StatusOK, fmt.Sprintf(`{"authorization_endpoint":"%[1]s/a","token_endpoint":"%[1]s/oauth2/v2.0/token","issuer":"%[1]s/v2.0"}`, authority)
	case strings.HasSuffix(path, "/token"):
		claims := base64.RawURLEncoding.EncodeToString([]byte(`{"oid":"` + clientID + `"}`))
		status, body = http.StatusOK, `{"token_type":"Bearer","expires_in":3600,"access_token":"e30.`+claims+`.x"}`
	case strings.HasSuffix(path, "/applications"), strings.HasSuffix(strings.ToLower(path), "/dnszones"), strings.HasSuffix(path, "/userAssignedIdentities"):
		status, body = http.StatusOK, `{"value":[]}`
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestCloudIsNeverLeft plans everything in each cloud: no call may go to another one, for there the subscription does not exist, and
// what is sent there is none of its business.
func TestCloudIsNeverLeft(t *testing.T) {
	for cloud, hosts := range map[string][]string{
		"AzureUSGovernmentCloud": {"login.microsoftonline.us", "management.usgovcloudapi.net", "graph.microsoft.us", "acc.blob.core.usgovcloudapi.net"},
		"AzureChinaCloud":        {"login.chinacloudapi.cn", "management.chinacloudapi.cn", "microsoftgraph.chinacloudapi.cn", "acc.blob.core.chinacloudapi.cn"},
		"AzureBleuCloud":         {"login.sovcloud-identity.fr", "management.sovcloud-api.fr", "graph.svc.sovcloud.fr", "acc.blob.storage.sovcloud-api.fr"},
		"AzurePublicCloud":       {"login.microsoftonline.com", "management.azure.com", "graph.microsoft.com", "acc.blob.core.windows.net"},
	} {
		t.Run(cloud, func(t *testing.T) {
			called := &emptyCloud{hosts: map[string]bool{}}
			s, err := azure.NewSession(azure.Credentials{SubscriptionID: subscription, TenantID: tenant, ClientID: clientID, ClientSecret: secret}, cloud,
				azure.WithHTTPClient(&http.Client{Transport: called}))
			must(t, err)
			ctx := context.Background()
			_, err = issuer.Plan(ctx, s, issuer.Options{Name: "demo", ResourceGroup: "g", StorageAccount: "acc", KeyDirectory: t.TempDir()})
			must(t, err)
			_, err = iam.Plan(ctx, s, iam.Options{Name: "demo", InfraID: "demo-1", ResourceGroup: "g", IssuerURL: "https://acc/demo"})
			must(t, err)
			_, err = infra.Plan(ctx, s, infra.Options{Name: "demo", InfraID: "demo-1", BaseDomain: "example.com", Location: "here", PublicZoneOptional: true})
			must(t, err)
			_, err = s.FindApplication(ctx, "external-dns")
			must(t, err)
			_, _, err = s.ReadPublic(ctx, s.BlobEndpoint("acc")+"/demo")
			must(t, err)
			for _, host := range hosts {
				if !called.hosts[host] {
					t.Errorf("%s was not called; this test proves nothing for it", host)
				}
				delete(called.hosts, host)
			}
			for host := range called.hosts {
				t.Errorf("%s is not of %s", host, cloud)
			}
		})
	}
}
