package install

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// cloud answers the sign-in, and what is asked for a zone.
type cloud struct {
	status int
	body   string
	asked  []string
}

func (c *cloud) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
	}
	const login = "https://login.microsoftonline.com/t"
	switch path := request.URL.Path; {
	case strings.HasSuffix(path, "/openid-configuration"):
		return answer(200, `{"token_endpoint":"`+login+`/oauth2/v2.0/token","authorization_endpoint":"`+login+`/oauth2/v2.0/authorize","issuer":"`+login+`/v2.0"}`)
	case strings.HasSuffix(path, "/token"):
		return answer(200, `{"token_type":"Bearer","expires_in":3600,"access_token":"x"}`)
	case request.URL.Host == "management.azure.com":
		c.asked = append(c.asked, path)
		if c.status == 0 {
			return nil, errors.New("connection refused")
		}
		return answer(c.status, c.body)
	}
	return answer(200, `{"tenant_discovery_endpoint":"`+login+`/v2.0/.well-known/openid-configuration","metadata":[]}`)
}

func TestZoneMustBeThere(t *testing.T) {
	principal := `{"tenantId":"7e0a1d00-0000-4000-8000-000000000001","subscriptionId":"5a2d0b0e-0000-4000-8000-000000000001","resourceGroup":"dns","aadClientId":"5e41ce00-0000-4000-8000-000000000001","aadClientSecret":"x"}`
	for _, tc := range []struct {
		name, file, secret string
		cloud              cloud
		err, warned        string
		asked              int
	}{
		{"there", principal, "", cloud{status: 200, body: `{"id":"z"}`}, "", "", 1},
		{"in a Secret", "", "credentials", cloud{status: 200, body: `{"id":"z"}`}, "", "", 1},
		{"a Secret without the key", "", "azure.json", cloud{}, `has no key "credentials"`, "", 0},
		{"no Secret yet", "", "none", cloud{}, "", "does not exist", 0},
		{"not there", principal, "", cloud{status: 404, body: `{"error":{"code":"ResourceNotFound","message":"no"}}`}, "no DNS zone d.example in resource group dns", "", 1},
		{"no right", principal, "", cloud{status: 403, body: `{"error":{"code":"AuthorizationFailed","message":"no"}}`}, "cannot read DNS zone d.example", "", 1},
		{"workload identity", `{"useWorkloadIdentityExtension":true}`, "", cloud{}, "", "", 0},
	} {
		said := ""
		i := &installer{client: clitest.Client(), say: func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" }, opts: &install.Options{
			Namespace: "hypershift", ExternalDNS: install.ExternalDNS{Provider: "azure", DomainFilter: "d.example", Credentials: []byte(tc.file)},
		}}
		if tc.secret != "" {
			i.opts.ExternalDNS.SecretName = "dns"
		}
		if tc.secret != "" && tc.secret != "none" {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "dns"}, Data: map[string][]byte{tc.secret: []byte(principal)}}
			if err := i.client.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		err := i.checkZone(t.Context(), azure.WithHTTPClient(&http.Client{Transport: &tc.cloud}))
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.err)
		}
		if (said == "") != (tc.warned == "") || !strings.Contains(said, tc.warned) {
			t.Errorf("%s: said %q, want %q", tc.name, said, tc.warned)
		}
		if len(tc.cloud.asked) != tc.asked || tc.asked > 0 && !strings.HasSuffix(tc.cloud.asked[0], "/resourceGroups/dns/providers/Microsoft.Network/dnsZones/d.example") {
			t.Errorf("%s: asked for %v", tc.name, tc.cloud.asked)
		}
	}
}

// TestOldManagementClusters: where no admission policy is enforced, the installation says what that means, and refuses what needs one.
func TestOldManagementClusters(t *testing.T) {
	for _, test := range []struct {
		served     bool
		registries []string
		refused    bool
		objects    bool
	}{{served: true, registries: []string{"quay.io"}, objects: true}, {}, {registries: []string{"quay.io"}, refused: true}} {
		var said strings.Builder
		i := &installer{opts: &install.Options{Namespace: "hypershift", ReleaseRegistries: test.registries},
			say: func(format string, args ...any) { fmt.Fprintf(&said, format, args...) }}
		if err := i.decideAdmission(test.served); (err != nil) != test.refused {
			t.Errorf("%+v: %v", test, err)
		}
		if warned := strings.Contains(said.String(), "ValidatingAdmissionPolicies"); warned != (!test.served && !test.refused) {
			t.Errorf("%+v: said %q", test, said.String())
		}
		has := false
		for _, obj := range i.opts.Objects() {
			has = has || obj.GetName() == "hypershift-hostedclusters"
		}
		if has != test.objects {
			t.Errorf("%+v: the policies are made: %t", test, has)
		}
	}
}
