package identity

import (
	"strings"
	"testing"
)

func TestParseManagedIdentities(t *testing.T) {
	const id = `{"clientID":"11111111-2222-4333-8444-555555555555","credentialsSecretName":"s","objectEncoding":"base64"}`
	members := `"managedIdentitiesKeyVault":{"name":"v","tenantID":"t"}`
	for _, key := range []string{"cloudProvider", "nodePoolManagement", "controlPlaneOperator", "ingress", "network", "disk", "file", "imageRegistry"} {
		members += `,"` + key + `":` + id
	}
	bare := "{" + members + `,"velero":{}}`
	for _, tc := range []struct{ name, text, cue string }{
		{"bare", bare, ""},
		{"wrapped", `{"controlPlane":` + bare + `,"dataPlane":{}}`, ""},
		{"no vault", strings.Replace(bare, `"name":"v"`, `"name":""`, 1), "managedIdentitiesKeyVault"},
		{"no secret", strings.Replace(bare, `"ingress":`+id, `"ingress":{}`, 1), "ingress.credentialsSecretName"},
		{"bad id", strings.Replace(bare, `"file":{"clientID":"1`, `"file":{"clientID":"x`, 1), "file.clientID"},
		{"a list", `[]`, "not an object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := ParseManagedIdentities([]byte(tc.text))
			if tc.cue != "" {
				if err == nil || !strings.Contains(err.Error(), tc.cue) {
					t.Errorf("error %v, want one that contains %q", err, tc.cue)
				}
				return
			}
			if err != nil || out.Ingress.CredentialsSecretName != "s" || out.ImageRegistry == nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if got := out.Ingress.ObjectEncoding; got != "utf-8" {
				t.Errorf("encoding %q; the components read only utf-8", got)
			}
		})
	}
}
