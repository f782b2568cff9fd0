package entra

import (
	"context"
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// The keys of an issuer are kept for a while where the profile says so: a new key is not known, and a former one still is.
func TestKeysOfAnIssuerAreKept(t *testing.T) {
	const issuer = "https://issuer.example/a"
	kept, err := pace.New(pace.Realistic, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		profile         pace.Profile
		former, renewed string // AADSTS numbers
	}{
		"read each time": {pace.Profile{}, "700027", ""},
		"kept":           {kept, "", "700027"},
	} {
		t.Run(name, func(t *testing.T) {
			published := "former"
			s := service(t, func(_ context.Context, address string) ([]byte, error) {
				if address == issuer+"/keys" {
					return json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: foreignKey().Public(), KeyID: published, Algorithm: "RS256", Use: "sig"}}})
				}
				return json.Marshal(map[string]string{"issuer": issuer, "jwks_uri": issuer + "/keys"})
			})
			s.pace = c.profile
			err := s.store.Update(func(tx *store.Tx) error {
				const identity = "/subscriptions/s/resourcegroups/rg/providers/microsoft.managedidentity/userassignedidentities/one"
				tx.Put(store.ARM, identity, store.Doc{"type": IdentityType, "properties": store.Doc{"clientId": "client", "principalId": "object"}})
				tx.Put(store.ARM, identity+"/federatedidentitycredentials/a", store.Doc{"type": CredentialType, "properties": store.Doc{"issuer": issuer, "subject": "sub", "audiences": []any{"aud"}}})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			exchange := func(key string) string {
				token := signed(t, jose.RS256, jose.JSONWebKey{Key: foreignKey(), KeyID: key}, map[string]any{"iss": issuer, "sub": "sub", "aud": "aud", "exp": today.Add(time.Hour).Unix()})
				_, _, failure := s.grant(t.Context(), url.Values{"grant_type": {"client_credentials"}, "client_id": {"client"}, "scope": {"https://management.azure.com/.default"}, "client_assertion": {token}})
				if failure == nil {
					return ""
				}
				return failure.number
			}
			if got := exchange("former"); got != "" {
				t.Fatalf("refused with %s", got)
			}
			published = "renewed"
			if got := exchange("former"); got != c.former {
				t.Errorf("the former key: %q, want %q", got, c.former)
			}
			if got := exchange("renewed"); got != c.renewed {
				t.Errorf("the new key: %q, want %q", got, c.renewed)
			}
		})
	}
}
