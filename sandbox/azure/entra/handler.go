package entra

import (
	"net/http"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// ServeHTTP answers on login.microsoftonline.com and its aliases.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(r.URL.Path, "/")
	tenant, rest, _ := strings.Cut(path, "/")
	switch {
	case path == "common/discovery/instance":
		s.instanceDiscovery(w, r)
	case !s.knownTenant(tenant):
		badRequest("invalid_request", "90002", "Tenant '%s' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud.", tenant).write(w)
	case rest == "v2.0/.well-known/openid-configuration":
		s.openIDConfiguration(w, r, tenant, "https://"+r.Host+"/"+s.tenant+"/v2.0")
	case rest == ".well-known/openid-configuration":
		// The documents of the first version name the issuer that tokens of the first version have.
		s.openIDConfiguration(w, r, tenant, s.issuer())
	case rest == "discovery/v2.0/keys", rest == "discovery/keys":
		s.publicKeys(w)
	case rest == "oauth2/v2.0/token" && r.Method == http.MethodPost, rest == "oauth2/token" && r.Method == http.MethodPost:
		s.token(w, r)
	default:
		wire.JSON(w, http.StatusNotFound, wire.Doc{"error": "not_found", "error_description": "the embedded Azure has no " + r.URL.Path})
	}
}

func (s *Service) publicKeys(w http.ResponseWriter) {
	k, err := s.keys()
	if err != nil {
		serverError(err).write(w)
		return
	}
	wire.JSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{k.jwk.Public()}})
}

func (s *Service) knownTenant(tenant string) bool {
	switch strings.ToLower(tenant) {
	case "common", "organizations", strings.ToLower(s.tenant):
		return true
	}
	return false
}

func (s *Service) instanceDiscovery(w http.ResponseWriter, r *http.Request) {
	wire.JSON(w, http.StatusOK, wire.Doc{
		"tenant_discovery_endpoint": "https://" + r.Host + "/" + s.tenant + "/v2.0/.well-known/openid-configuration",
		"api-version":               "1.1",
		"metadata": []any{wire.Doc{
			"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net",
			"aliases": []any{"login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net"},
		}},
	})
}

func (s *Service) openIDConfiguration(w http.ResponseWriter, r *http.Request, tenant, issuer string) {
	base := "https://" + r.Host
	wire.JSON(w, http.StatusOK, wire.Doc{
		"token_endpoint":                        base + "/" + tenant + "/oauth2/v2.0/token",
		"authorization_endpoint":                base + "/" + tenant + "/oauth2/v2.0/authorize",
		"device_authorization_endpoint":         base + "/" + tenant + "/oauth2/v2.0/devicecode",
		"issuer":                                issuer,
		"jwks_uri":                              base + "/" + tenant + "/discovery/v2.0/keys",
		"cloud_instance_name":                   "microsoftonline.com",
		"cloud_graph_host_name":                 "graph.windows.net",
		"msgraph_host":                          "graph.microsoft.com",
		"rbac_url":                              "https://pas.windows.net",
		"response_modes_supported":              []any{"query", "fragment", "form_post"},
		"response_types_supported":              []any{"code", "id_token", "code id_token", "id_token token"},
		"scopes_supported":                      []any{"openid", "profile", "email", "offline_access"},
		"subject_types_supported":               []any{"pairwise"},
		"id_token_signing_alg_values_supported": []any{"RS256"},
		"token_endpoint_auth_methods_supported": []any{"client_secret_post", "private_key_jwt", "client_secret_basic"},
		"tenant_region_scope":                   "NA",
	})
}
