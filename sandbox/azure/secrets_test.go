package azure_test

import (
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

const (
	secretsUser    = "4633458b-17de-408a-b874-0445c86b69e6"
	secretsOfficer = "b86a8fe4-44ce-4948-aee5-eccb2c155cd7"
)

// secret calls the data plane of the vault.
func (s *sandbox) secret(vault, method, path, body string) answer {
	s.t.Helper()
	token, err := s.user().GetToken(s.t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://vault.azure.net/.default"}})
	must(s.t, err)
	return s.request(method, "https://"+vault+".vault.azure.net/"+path+"?api-version=7.4", body, "Authorization", "Bearer "+token.Token, "Content-Type", "application/json")
}

type secretStep struct {
	method, path, body string
	status             int
	text               string
}

func (s *sandbox) secretSteps(vault string, steps []secretStep) {
	s.t.Helper()
	for _, c := range steps {
		if got := s.secret(vault, c.method, c.path, c.body); got.status != c.status || !strings.Contains(got.text, c.text) {
			s.t.Errorf("%s %s: %d %s, want %d with %q", c.method, c.path, got.status, got.text, c.status, c.text)
		}
	}
}

// Secrets have versions, are kept when deleted, and are shown to whom a role or a policy lets read them.
func TestVaultSecrets(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	id := s.vault("keeper", "true", "")
	s.secretSteps("keeper", []secretStep{{"PUT", "secrets/token", `{"value":"one"}`, 403, "ForbiddenByRbac"}})
	s.grant(id, secretsUser, s.me(), "00000000-0000-4000-8000-0000000000a1")
	s.secretSteps("keeper", []secretStep{
		{"PUT", "secrets/token", `{"value":"one"}`, 403, "secrets/setSecret/action"},
		{"GET", "secrets", "", 200, `"value":[]`},
	})
	s.grant(id, secretsOfficer, s.me(), "00000000-0000-4000-8000-0000000000a2")
	first := s.secret("keeper", "PUT", "secrets/token", `{"value":"one","contentType":"text/plain","tags":{"a":"b"}}`)
	version, found := strings.CutPrefix(first.body["id"].(string), "https://keeper.vault.azure.net/secrets/token/")
	if !found || first.body["value"] != "one" {
		t.Fatalf("set: %s", first.text)
	}
	s.secretSteps("keeper", []secretStep{
		{"PUT", "secrets/token", `{"value":"two"}`, 200, `"value":"two"`},
		{"PUT", "secrets/token", `{}`, 400, "BadParameter"},
		{"GET", "secrets/token", "", 200, `"value":"two"`},
		{"GET", "secrets/token/" + version, "", 200, `"value":"one"`},
		{"GET", "secrets/none", "", 404, "SecretNotFound"},
		{"GET", "keys", "", 403, "vaults/keys/read"},
	})
	if got := s.secret("keeper", "GET", "secrets/token/versions", ""); strings.Count(got.text, "secrets/token/") != 2 || strings.Contains(got.text, `"one"`) {
		t.Errorf("versions: %s", got.text)
	}
	s.restart()
	s.secretSteps("keeper", []secretStep{
		{"PATCH", "secrets/token/" + version, `{"attributes":{"enabled":false}}`, 200, `"enabled":false`},
		{"GET", "secrets/token/" + version, "", 403, "SecretDisabled"},
		{"DELETE", "secrets/token", "", 200, "deletedsecrets/token"},
		{"GET", "secrets/token", "", 404, "SecretNotFound"},
		{"PUT", "secrets/token", `{"value":"three"}`, 409, "deleted but recoverable"},
		{"GET", "deletedsecrets", "", 200, "secrets/token"},
		{"GET", "deletedsecrets/token", "", 200, "scheduledPurgeDate"},
		{"POST", "deletedsecrets/token/recover", "", 200, "secrets/token"},
		{"GET", "secrets/token", "", 200, `"value":"two"`},
		{"DELETE", "secrets/token", "", 200, "recoveryId"},
		{"DELETE", "deletedsecrets/token", "", 204, ""},
		{"PUT", "secrets/token", `{"value":"four"}`, 200, `"four"`},
		{"POST", "secrets/token/backup", "", 501, "is not served by the embedded Azure of the sandbox"},
	})

	s.vault("policies", "false", `{"tenantId":"`+tenant+`","objectId":"`+s.me()+`","permissions":{"secrets":["set","list"],"keys":["get"]}}`)
	s.secretSteps("policies", []secretStep{
		{"PUT", "secrets/a", `{"value":"x"}`, 200, `"x"`},
		{"GET", "secrets/a", "", 403, "does not have secrets get permission"},
	})
}
