package azure_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const (
	inSub = "/subscriptions/" + subscription
	inRG  = inSub + "/resourceGroups/rg"
)

// What the resource manager answers before any provider is asked, and by whom a missing thing is reported missing.
func TestGateway(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	net := inRG + "/providers/Microsoft.Network/"
	const vnet = `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/subscriptions/" + tenant, "", 404, "SubscriptionNotFound"},
		{"GET", "/subscriptions/mine/resourceGroups/rg", "", 400, "InvalidSubscriptionId"},
		{"GET", "/subscriptions/" + tenant + "/resourceGroups/rg", "", 404, "SubscriptionNotFound"},
		{"GET", inSub + "/resourceGroups/none", "", 404, "ResourceGroupNotFound"},
		{"HEAD", inSub + "/resourceGroups/none", "", 404, ""},
		{"HEAD", inRG, "", 204, ""},
		{"DELETE", inSub + "/resourceGroups/none", "", 404, "ResourceGroupNotFound"},
		{"PUT", inSub + "/resourceGroups/new", `{}`, 400, "LocationRequired"},
		{"PUT", inSub + "/resourceGroups/new", `{"location":"mars"}`, 400, "LocationNotAvailableForResourceGroup"},
		{"PUT", inSub + "/resourceGroups/new", `{"location":`, 400, "InvalidRequestContent"},
		{"PUT", inSub + "/resourceGroups/new", `[]`, 400, "InvalidRequestContent"},
		{"GET", inSub + "/resourceGroups/none/providers/Microsoft.Network/virtualNetworks/v1", "", 404, "ResourceGroupNotFound"},
		{"GET", inSub + "/resourceGroups/none/providers/Microsoft.Network/virtualNetworks", "", 404, "ResourceGroupNotFound"},
		{"GET", inSub + "/resourceGroups/none/resources", "", 404, "ResourceGroupNotFound"},
		{"PUT", inSub + "/resourceGroups/none/providers/Microsoft.Network/virtualNetworks/v1", vnet, 404, "ResourceGroupNotFound"},
		{"DELETE", inSub + "/resourceGroups/none/providers/Microsoft.Network/virtualNetworks/v1", "", 404, "ResourceGroupNotFound"},
		{"GET", net + "virtualNetworks/none", "", 404, "ResourceNotFound"},
		{"PATCH", net + "virtualNetworks/none", `{"tags":{}}`, 404, "ResourceNotFound"},
		{"DELETE", net + "virtualNetworks/none", "", 204, ""},
		{"PUT", net + "virtualNetworks/v1", `{"properties":{}}`, 400, "LocationRequired"},
		{"PUT", net + "virtualNetworks/v1", strings.Replace(vnet, "eastus", "mars", 1), 400, "LocationNotAvailableForResourceType"},
		{"PUT", net + "virtualNetworks/v1", strings.Replace(vnet, "eastus", "West Europe", 1), 201, ""},
		{"GET", net + "virtualNetworks/v1/subnets/none", "", 404, "NotFound"},
		{"DELETE", net + "virtualNetworks/v1/subnets/none", "", 204, ""},
		{"GET", net + "virtualNetworks/none/subnets/s1", "", 404, "ResourceNotFound"},
		{"PUT", net + "virtualNetworks/none/subnets/s1", `{"properties":{"addressPrefix":"10.0.0.0/24"}}`, 404, "ParentResourceNotFound"},
		{"GET", net + "dnsZones/none.example.com/A/www", "", 404, "ResourceNotFound"},
		{"PUT", net + "dnsZones/none.example.com/A/www", `{"properties":{"TTL":60}}`, 404, "ParentResourceNotFound"},
		{"PUT", net + "virtualNetworks", vnet, 400, "InvalidResourceName"},
		{"GET", inRG + "/providers/Contoso.Things/boxes/b", "", 404, "InvalidResourceNamespace"},
		{"PUT", inRG + "/providers/Contoso.Things/boxes/b", `{"location":"eastus"}`, 404, "InvalidResourceNamespace"},
		{"GET", inSub + "/providers/Contoso.Things", "", 404, "InvalidResourceNamespace"},
		{"POST", net + "virtualNetworks/v1/fly", "", 404, "InvalidResourceType"},
		{"GET", inRG + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/none", "", 404, "ResourceNotFound"},
		{"GET", inRG + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/none/federatedIdentityCredentials/fic", "", 404, "ResourceNotFound"},
		{"GET", inRG + "/providers/Microsoft.Storage/storageAccounts/none", "", 404, "ResourceNotFound"},
		{"DELETE", inRG + "/providers/Microsoft.Authorization/roleAssignments/" + tenant, "", 204, ""},
	} {
		got := s.call(c.method, c.path, c.body)
		if got.status != c.status || got.code != c.code {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, got.status, got.code, c.status, c.code)
		}
		if c.code != "" && (got.header.Get("x-ms-error-code") != c.code || got.body["error"].(map[string]any)["message"] == "") {
			t.Errorf("%s %s: the header or the message of the error is missing", c.method, c.path)
		}
		for _, h := range []string{"x-ms-request-id", "x-ms-correlation-request-id"} {
			if got.header.Get(h) == "" {
				t.Errorf("%s %s: no %s", c.method, c.path, h)
			}
		}
	}
	for version, code := range map[string]string{"": "MissingApiVersionParameter", "?api-version=latest": "InvalidApiVersionParameter"} {
		tok, err := s.user().GetToken(t.Context(), managementScope())
		must(t, err)
		if got := s.request("GET", "https://management.azure.com"+inRG+version, "", "Authorization", "Bearer "+tok.Token); got.status != 400 || got.code != code {
			t.Errorf("version %q: %d %s", version, got.status, got.code)
		}
	}
}

// A token that is missing, late, forged or meant for another service opens no plane.
func TestTokensAreCheckedOnEveryPlane(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.account("rg", "acct", false)
	planes := map[string]struct{ address, audience, other string }{
		"arm":   {"https://management.azure.com" + inRG + "?api-version=2021-04-01", "https://management.azure.com", "https://graph.microsoft.com"},
		"graph": {"https://graph.microsoft.com/v1.0/servicePrincipals", "https://graph.microsoft.com", "https://management.azure.com"},
		"blob":  {"https://acct.blob.core.windows.net/?comp=list", "https://storage.azure.com", "https://management.azure.com"},
	}
	token := func(audience string) string {
		tok, err := s.user().GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{audience + "/.default"}})
		must(t, err)
		return tok.Token
	}
	forge := func(raw string) string { // the same claims, another key
		parsed, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
		must(t, err)
		claims := map[string]any{}
		must(t, parsed.UnsafeClaimsWithoutVerification(&claims))
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: newKey(t), KeyID: parsed.Headers[0].KeyID}}, nil)
		must(t, err)
		out, err := jwt.Signed(signer).Claims(claims).Serialize()
		must(t, err)
		return out
	}
	codes := map[string]map[string]string{"arm": {"none": "AuthenticationFailed", "garbage": "InvalidAuthenticationToken", "forged": "InvalidAuthenticationToken",
		"audience": "InvalidAuthenticationTokenAudience", "expired": "ExpiredAuthenticationToken"}}
	for name, p := range planes {
		good := token(p.audience)
		try := func(what, header string) {
			t.Helper()
			var got answer
			if header == "" {
				got = s.request("GET", p.address, "")
			} else {
				got = s.request("GET", p.address, "", "Authorization", header, "x-ms-version", "2025-01-05", "x-ms-date", time.Now().UTC().Format(http.TimeFormat))
			}
			want := codes[name][what]
			if got.status != http.StatusUnauthorized || want != "" && got.code != want {
				t.Errorf("%s, %s: %d %s, want 401 %s", name, what, got.status, got.code, want)
			}
			if name != "graph" && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s, %s: no challenge", name, what)
			}
		}
		try("none", "")
		try("garbage", "Bearer nonsense")
		try("forged", "Bearer "+forge(good))
		try("audience", "Bearer "+token(p.other))
		if got := s.request("GET", p.address, "", "Authorization", "Bearer "+good, "x-ms-version", "2025-01-05"); got.status != 200 {
			t.Errorf("%s: a good token is answered %d %s", name, got.status, got.text)
		}
		s.fault(t, fault.Rule{Preset: "clock"})
		try("expired", "Bearer "+good)
		must(t, s.server.Faults().Clear())
	}
}

// Lists come in pages of $top; the links work without it.
func TestTop(t *testing.T) {
	s := newSandbox(t)
	for _, name := range []string{"a", "b", "c"} {
		s.group(name)
	}
	got := s.call("GET", inSub+"/resourcegroups?$top=2", "")
	if n := len(got.body["value"].([]any)); n != 2 {
		t.Fatalf("%d groups on the first page", n)
	}
	tok, err := s.user().GetToken(t.Context(), managementScope())
	must(t, err)
	next := s.request("GET", got.body["nextLink"].(string), "", "Authorization", "Bearer "+tok.Token)
	if l := next.body["value"].([]any); len(l) != 1 || l[0].(map[string]any)["name"] != "c" || next.body["nextLink"] != nil {
		t.Errorf("second page: %s", next.text)
	}
}
