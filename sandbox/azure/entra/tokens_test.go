package entra

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

const tenant = "22222222-2222-4222-8222-222222222222"

var today = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var foreignKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func service(t *testing.T, fetch Fetch) *Service {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.TempDir(), tenant, st, func() time.Time { return today }, fetch, pace.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); _ = st.Close() })
	return s
}

func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestVerify(t *testing.T) {
	s := service(t, nil)
	keys, err := s.keys()
	if err != nil {
		t.Fatal(err)
	}
	own := keys.jwk.Key
	at := func(d time.Duration) int64 { return today.Add(d).Unix() }
	for name, c := range map[string]struct {
		change    map[string]any // nil removes a claim
		algorithm jose.SignatureAlgorithm
		key       any
		want      string // code of the refusal
	}{
		"as it is issued":                      {nil, jose.RS256, own, ""},
		"a slash behind the audience":          {map[string]any{"aud": "https://management.azure.com/"}, jose.RS256, own, ""},
		"one of several audiences":             {map[string]any{"aud": []string{"https://graph.microsoft.com", "https://management.azure.com"}}, jose.RS256, own, ""},
		"another audience":                     {map[string]any{"aud": "https://graph.microsoft.com"}, jose.RS256, own, "InvalidAuthenticationTokenAudience"},
		"an audience that begins the same":     {map[string]any{"aud": "https://management.azure.com.example"}, jose.RS256, own, "InvalidAuthenticationTokenAudience"},
		"no audience":                          {map[string]any{"aud": nil}, jose.RS256, own, "InvalidAuthenticationTokenAudience"},
		"another tenant's issuer":              {map[string]any{"iss": "https://sts.windows.net/33333333-3333-4333-8333-333333333333/"}, jose.RS256, own, "InvalidAuthenticationTokenTenant"},
		"no issuer":                            {map[string]any{"iss": nil}, jose.RS256, own, "InvalidAuthenticationTokenTenant"},
		"over for less than clocks may differ": {map[string]any{"exp": at(-4 * time.Minute)}, jose.RS256, own, ""},
		"over":                                 {map[string]any{"exp": at(-6 * time.Minute)}, jose.RS256, own, "ExpiredAuthenticationToken"},
		"without an end":                       {map[string]any{"exp": nil}, jose.RS256, own, "ExpiredAuthenticationToken"},
		"not begun":                            {map[string]any{"nbf": at(6 * time.Minute)}, jose.RS256, own, "ExpiredAuthenticationToken"},
		"signed with another key":              {nil, jose.RS256, foreignKey(), "InvalidAuthenticationToken"},
		"signed another way":                   {nil, jose.RS512, own, "InvalidAuthenticationToken"},
		"signed with a word":                   {nil, jose.HS256, []byte("0123456789abcdef0123456789abcdef"), "InvalidAuthenticationToken"},
	} {
		t.Run(name, func(t *testing.T) {
			claims := map[string]any{"iss": s.issuer(), "aud": "https://management.azure.com", "exp": at(time.Hour), "nbf": at(0), "oid": "object", "appid": "client"}
			for k, v := range c.change {
				if claims[k] = v; v == nil {
					delete(claims, k)
				}
			}
			caller, err := s.Verify(signed(t, c.algorithm, c.key, claims), ManagementAudiences, nil)
			var refused *TokenError
			switch {
			case c.want == "" && (err != nil || !reflect.DeepEqual(caller, Principal{ObjectID: "object", ClientID: "client"})):
				t.Errorf("%+v, %v", caller, err)
			case c.want != "" && (!errors.As(err, &refused) || refused.Code != c.want || !reflect.DeepEqual(caller, Principal{})):
				t.Errorf("%+v, %v, want %s", caller, err, c.want)
			}
		})
	}
	if _, err := s.Verify("no token", ManagementAudiences, nil); err == nil {
		t.Error("a word is taken for a token")
	}
}

// A token of a foreign issuer stands for an identity only where a federated credential names its issuer, subject and audience, all three exactly,
// and where the keys that the issuer itself publishes have signed it in its time.
func TestFederatedTokens(t *testing.T) {
	const issuer, elsewhere, subject, audience = "https://issuer.example/a", "https://issuer.example/b", "system:serviceaccount:ns:name", "api://AzureADTokenExchange"
	at := func(d time.Duration) int64 { return today.Add(d).Unix() }
	published := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: foreignKey().Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change map[string]any
		key    *rsa.PrivateKey
		names  string // issuer in the discovery document
		down   bool
		want   string // AADSTS number of the refusal
	}{
		"as it should be":               {nil, foreignKey(), issuer, false, ""},
		"another issuer":                {map[string]any{"iss": elsewhere + "c"}, foreignKey(), issuer, false, "700211"},
		"an issuer with a slash behind": {map[string]any{"iss": issuer + "/"}, foreignKey(), issuer, false, "700211"},
		"another subject":               {map[string]any{"sub": subject + "2"}, foreignKey(), issuer, false, "700213"},
		"the subject in capitals":       {map[string]any{"sub": "SYSTEM:serviceaccount:ns:name"}, foreignKey(), issuer, false, "700213"},
		"another audience":              {map[string]any{"aud": "openshift"}, foreignKey(), issuer, false, "700212"},
		"of two credentials each half":  {map[string]any{"iss": elsewhere}, foreignKey(), elsewhere, false, "70021"},
		"over":                          {map[string]any{"exp": at(-6 * time.Minute)}, foreignKey(), issuer, false, "700024"},
		"without an end":                {map[string]any{"exp": nil}, foreignKey(), issuer, false, "700024"},
		"not begun":                     {map[string]any{"nbf": at(6 * time.Minute)}, foreignKey(), issuer, false, "700024"},
		"signed by somebody else":       {nil, other, issuer, false, "700027"},
		"a document of another issuer":  {nil, foreignKey(), elsewhere, false, "700211"},
		"an issuer that does not work":  {nil, foreignKey(), issuer, true, "50166"},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(t, func(_ context.Context, address string) ([]byte, error) {
				switch {
				case c.down:
					return nil, errors.New("no route to host")
				case address == "https://issuer.example/keys":
					return json.Marshal(published)
				}
				return json.Marshal(map[string]string{"issuer": c.names, "jwks_uri": "https://issuer.example/keys"})
			})
			identity := "/subscriptions/s/resourcegroups/rg/providers/microsoft.managedidentity/userassignedidentities/one"
			federation := func(issuer, subject string) store.Doc {
				return store.Doc{"type": CredentialType, "properties": store.Doc{"issuer": issuer, "subject": subject, "audiences": []any{audience}}}
			}
			err := s.store.Update(func(tx *store.Tx) error {
				tx.Put(store.ARM, identity, store.Doc{"type": IdentityType, "properties": store.Doc{"clientId": "client", "principalId": "object"}})
				tx.Put(store.ARM, identity+"/federatedidentitycredentials/a", federation(issuer, subject))
				tx.Put(store.ARM, identity+"/federatedidentitycredentials/b", federation(elsewhere, "system:serviceaccount:ns:another"))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			claims := map[string]any{"iss": issuer, "sub": subject, "aud": audience, "exp": at(time.Hour), "nbf": at(-time.Minute)}
			for k, v := range c.change {
				if claims[k] = v; v == nil {
					delete(claims, k)
				}
			}
			who, resource, failure := s.grant(t.Context(), url.Values{"grant_type": {"client_credentials"}, "client_id": {"CLIENT"}, "scope": {"openid https://management.azure.com/.default"},
				"client_assertion": {signed(t, jose.RS256, jose.JSONWebKey{Key: c.key, KeyID: "k"}, claims)}})
			got := ""
			if failure != nil {
				got = failure.number
			}
			if got != c.want {
				t.Fatalf("refused with %q (%v), want %q", got, failure, c.want)
			}
			if c.want == "" && (who.principalID != "object" || resource != "https://management.azure.com") {
				t.Errorf("granted to %q for %q", who.principalID, resource)
			}
		})
	}
}
