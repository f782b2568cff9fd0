package azure_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azkeys"
)

const (
	cryptoUser    = "12338af0-0e69-4776-bea7-57ae8d297424"
	cryptoOfficer = "14b46e9e-c2b7-41b4-b07b-48a6ebf60603"
)

// vault makes a vault that goes by roles, or by access policies.
func (s *sandbox) vault(name string, rbac string, policies string) string {
	s.t.Helper()
	id := "/subscriptions/" + subscription + "/resourceGroups/rg/providers/Microsoft.KeyVault/vaults/" + name
	got := s.call("PUT", id, `{"location":"eastus","properties":{"tenantId":"`+tenant+`","sku":{"family":"A","name":"standard"},"enableRbacAuthorization":`+rbac+`,"accessPolicies":[`+policies+`]}}`)
	if got.status != http.StatusCreated {
		s.t.Fatalf("vault %s: %s", name, got.text)
	}
	return id
}

func (s *sandbox) grant(scope, role, principal, name string) {
	s.t.Helper()
	got := s.call("PUT", scope+"/providers/Microsoft.Authorization/roleAssignments/"+name,
		`{"properties":{"roleDefinitionId":"/subscriptions/`+subscription+`/providers/Microsoft.Authorization/roleDefinitions/`+role+`","principalId":"`+principal+`"}}`)
	if got.status != http.StatusCreated {
		s.t.Fatalf("role %s: %s", role, got.text)
	}
}

func (s *sandbox) keys(vault string) *azkeys.Client {
	s.t.Helper()
	c, err := azkeys.NewClient("https://"+vault+".vault.azure.net", s.user(), &azkeys.ClientOptions{ClientOptions: s.options()})
	must(s.t, err)
	return c
}

// me is the object id of the user, as the vault names it in a refusal.
func (s *sandbox) me() string {
	s.t.Helper()
	got := s.call("GET", "/subscriptions/"+subscription+"/providers/Microsoft.Authorization/roleAssignments", "")
	return got.body["value"].([]any)[0].(map[string]any)["properties"].(map[string]any)["principalId"].(string)
}

func (s *sandbox) rsaKey(c *azkeys.Client, name string) *azkeys.KeyBundle {
	s.t.Helper()
	made, err := c.CreateKey(s.t.Context(), name, azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeRSA), KeySize: to.Ptr[int32](2048)}, nil)
	must(s.t, err)
	return &made.KeyBundle
}

// The unmodified SDK learns from the challenge where to sign in; roles decide what it may.
func TestKeyVaultRolesDecide(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	id, c := s.vault("keeper", "true", ""), s.keys("keeper")
	_, err := c.CreateKey(t.Context(), "etcd", azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeRSA)}, nil)
	wantCode(t, err, http.StatusForbidden, "Forbidden")
	s.grant(id, cryptoUser, s.me(), "00000000-0000-4000-8000-0000000000a1")
	_, err = c.CreateKey(t.Context(), "etcd", azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeRSA)}, nil)
	wantCode(t, err, http.StatusForbidden, "Forbidden")
	s.grant(id, cryptoOfficer, s.me(), "00000000-0000-4000-8000-0000000000a2")
	s.rsaKey(c, "etcd")

	unsigned, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://keeper.vault.azure.net/keys?api-version=7.6", nil)
	must(t, err)
	resp, err := s.http.Do(unsigned)
	must(t, err)
	defer resp.Body.Close()
	want := `Bearer authorization="https://login.microsoftonline.com/` + tenant + `", resource="https://vault.azure.net"`
	if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized || got != want {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
}

func TestKeyVaultAccessPoliciesDecide(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	s.vault("strict", "false", "")
	_, err := s.keys("strict").CreateKey(t.Context(), "k", azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeRSA)}, nil)
	wantCode(t, err, http.StatusForbidden, "Forbidden")
	s.vault("open", "false", `{"tenantId":"`+tenant+`","objectId":"`+s.me()+`","permissions":{"keys":["create","encrypt"]}}`)
	c := s.keys("open")
	key := s.rsaKey(c, "k")
	_, err = c.GetKey(t.Context(), "k", key.Key.KID.Version(), nil)
	wantCode(t, err, http.StatusForbidden, "Forbidden")
}

func TestKeyVaultCryptography(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	s.grant(s.vault("keeper", "true", ""), cryptoOfficer, s.me(), "00000000-0000-4000-8000-0000000000a1")
	c, ctx := s.keys("keeper"), t.Context()
	first, second := s.rsaKey(c, "etcd"), s.rsaKey(c, "etcd")
	old, current := first.Key.KID.Version(), second.Key.KID.Version()
	secret := azkeys.KeyOperationParameters{Algorithm: to.Ptr(azkeys.EncryptionAlgorithmRSAOAEP256), Value: []byte("thirty-two bytes of a local key.")}
	sealed, err := c.Encrypt(ctx, "etcd", old, secret, nil)
	must(t, err)
	s.restart()
	c = s.keys("keeper")
	secret.Value = sealed.Result
	plain, err := c.Decrypt(ctx, "etcd", old, secret, nil)
	must(t, err)
	if string(plain.Result) != "thirty-two bytes of a local key." {
		t.Errorf("decrypted %q", plain.Result)
	}
	_, err = c.Decrypt(ctx, "etcd", current, secret, nil)
	wantCode(t, err, http.StatusBadRequest, "BadParameter")
	_, err = c.UnwrapKey(ctx, "etcd", old, secret, nil)
	must(t, err)

	var versions []string
	for pager := c.NewListKeyPropertiesVersionsPager("etcd", nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		must(t, err)
		for _, v := range page.Value {
			versions = append(versions, v.KID.Version())
		}
	}
	if !slices.Equal(versions, []string{old, current}) {
		t.Errorf("versions %v, want %s %s", versions, old, current)
	}
	latest, err := c.GetKey(ctx, "etcd", "", nil)
	must(t, err)
	if latest.Key.KID.Version() != current {
		t.Errorf("the newest version is %s, want %s", latest.Key.KID.Version(), current)
	}

	_, err = c.UpdateKey(ctx, "etcd", old, azkeys.UpdateKeyParameters{KeyAttributes: &azkeys.KeyAttributes{Enabled: to.Ptr(false)}}, nil)
	must(t, err)
	_, err = c.Decrypt(ctx, "etcd", old, secret, nil)
	wantCode(t, err, http.StatusForbidden, "Forbidden")
	_, err = c.UpdateKey(ctx, "etcd", old, azkeys.UpdateKeyParameters{KeyOps: []*azkeys.KeyOperation{to.Ptr(azkeys.KeyOperationDecrypt)}, KeyAttributes: &azkeys.KeyAttributes{Enabled: to.Ptr(true)}}, nil)
	must(t, err)
	_, err = c.UnwrapKey(ctx, "etcd", old, secret, nil)
	wantCode(t, err, http.StatusForbidden, "Forbidden")
	_, err = c.Decrypt(ctx, "etcd", old, secret, nil)
	must(t, err)
}

func TestKeyVaultKeepsDeletedKeys(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	s.grant(s.vault("keeper", "true", ""), cryptoOfficer, s.me(), "00000000-0000-4000-8000-0000000000a1")
	c, ctx := s.keys("keeper"), t.Context()
	version := s.rsaKey(c, "etcd").Key.KID.Version()
	_, err := c.DeleteKey(ctx, "etcd", nil)
	must(t, err)
	_, err = c.GetKey(ctx, "etcd", version, nil)
	wantCode(t, err, http.StatusNotFound, "KeyNotFound")
	_, err = c.CreateKey(ctx, "etcd", azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeRSA)}, nil)
	wantCode(t, err, http.StatusConflict, "Conflict")
	s.restart()
	c = s.keys("keeper")
	deleted, err := c.GetDeletedKey(ctx, "etcd", nil)
	must(t, err)
	if deleted.DeletedDate == nil || deleted.ScheduledPurgeDate == nil || !deleted.ScheduledPurgeDate.After(*deleted.DeletedDate) {
		t.Errorf("deleted key %+v", deleted)
	}
	_, err = c.RecoverDeletedKey(ctx, "etcd", nil)
	must(t, err)
	_, err = c.GetKey(ctx, "etcd", version, nil)
	must(t, err)
	_, err = c.DeleteKey(ctx, "etcd", nil)
	must(t, err)
	_, err = c.PurgeDeletedKey(ctx, "etcd", nil)
	must(t, err)
	s.rsaKey(c, "etcd")
}
