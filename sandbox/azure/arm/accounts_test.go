package arm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	accountIn = inGroup + "/providers/Microsoft.Storage/storageAccounts/"
	vaultIn   = inGroup + "/providers/Microsoft.KeyVault/vaults/"
	secondIn  = inSubscription + "/resourceGroups/rg2"
)

func accountOf(props string) string {
	return `{"location":"westeurope","kind":"StorageV2","sku":{"name":"Standard_LRS"},"properties":{` + props + `}}`
}

// Names of accounts are those of hosts: https://learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-name.
func TestStorageAccounts(t *testing.T) {
	s := gateway(t)
	have(t, s, secondIn, `{"location":"westeurope"}`, accountIn+"acct", accountOf(""))
	for _, name := range []string{"ab", strings.Repeat("a", 25), "Bcct", "my-acct", "my_acct"} {
		play(t, s, step{put, accountIn + name, accountOf(""), 400, "AccountNameInvalid"})
	}
	elsewhere := strings.Replace(accountIn, "/rg/", "/rg2/", 1)
	play(t, s, step{put, elsewhere + "acct", accountOf(""), 409, "StorageAccountAlreadyTaken"}, step{put, accountIn + "acct", accountOf(""), 200, ""})
	d := shown(t, s, accountIn+"acct")
	if at(d, "properties.primaryEndpoints.blob") != "https://acct.blob.core.windows.net/" ||
		at(d, "properties.primaryEndpoints.web") != "https://acct.z13.web.core.windows.net/" ||
		at(d, "properties.allowBlobPublicAccess") != false || at(d, "properties.supportsHttpsTrafficOnly") != true {
		t.Errorf("an account: %v", d)
	}
	created := at(d, "properties.creationTime")
	have(t, s, accountIn+"acct", accountOf(`"allowBlobPublicAccess":true`))
	if d := shown(t, s, accountIn+"acct"); at(d, "properties.creationTime") != created || at(d, "properties.allowBlobPublicAccess") != true {
		t.Errorf("an account that is written again: %v", d)
	}
	available := func(name string) wire.Doc {
		return want(t, s, owner, post, inSubscription+"/providers/Microsoft.Storage/checkNameAvailability",
			wire.Doc{"name": name, "type": "Microsoft.Storage/storageAccounts"}, 200)
	}
	for name, reason := range map[string]any{"free": nil, "acct": "AlreadyExists", "No": "AccountNameInvalid"} {
		if got := available(name); got["reason"] != reason || got["nameAvailable"] != (reason == nil) {
			t.Errorf("%s: %v", name, got)
		}
	}
	play(t, s, step{remove, accountIn + "acct", "", 200, ""}, step{put, elsewhere + "acct", accountOf(""), 200, ""})
}

// Keys are renewed one at a time, so that a client can change from one to the other.
func TestKeysOfAnAccount(t *testing.T) {
	s := gateway(t)
	have(t, s, accountIn+"acct", accountOf(""), accountIn+"other", accountOf(""))
	keys := func(name string) [2]string {
		list := wire.Docs(want(t, s, owner, post, accountIn+name+"/listKeys", nil, 200), "keys")
		return [2]string{wire.Text(list[0], "value"), wire.Text(list[1], "value")}
	}
	first := keys("acct")
	if first[0] == "" || first[0] == first[1] || first == keys("other") || first != keys("acct") {
		t.Error("the keys of an account are two, its own, and stay")
	}
	play(t, s, step{post, accountIn + "acct/regenerateKey", `{"keyName":"key2"}`, 200, ""},
		step{post, accountIn + "acct/regenerateKey", `{"keyName":"key3"}`, 400, "InvalidValuesForRequestParameters"},
		step{post, accountIn + "none/listKeys", "", 404, "ResourceNotFound"})
	second := keys("acct")
	if second[0] != first[0] || second[1] == first[1] {
		t.Error("a new second key leaves the first one, and is another one")
	}
	have(t, s, accountIn+"acct", accountOf(""))
	if keys("acct") != second {
		t.Error("a PUT of an account that is there changes its keys")
	}
	define(t, s, "reads", permission([]any{"*/read"}, nil, nil))
	assign(t, s, other, "reads", inSubscription)
	want(t, s, other, post, accountIn+"acct/listKeys", nil, http.StatusForbidden) // who reads an account does not read its keys
}

// Names of containers: https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata.
func TestContainersOfAnAccount(t *testing.T) {
	s := gateway(t)
	have(t, s, accountIn+"acct", accountOf(""), accountIn+"open", accountOf(`"allowBlobPublicAccess":true`))
	in := func(account, name string) string {
		return accountIn + account + "/blobServices/default/containers/" + name
	}
	for _, name := range []string{"ab", strings.Repeat("a", 64), "Docs", "do--cs", "-docs", "docs-", "do_cs"} {
		play(t, s, step{put, in("acct", name), `{"properties":{}}`, 400, "InvalidResourceName"})
	}
	for _, name := range []string{"abc", strings.Repeat("a", 63), "d-o-c-s", "123", "$web", "$root"} {
		play(t, s, step{put, in("acct", name), `{"properties":{}}`, 201, ""})
	}
	play(t, s, step{put, in("acct", "docs"), `{"properties":{"publicAccess":"Blob"}}`, 409, "PublicAccessNotPermitted"},
		step{put, in("open", "docs"), `{"properties":{"publicAccess":"Blob"}}`, 201, ""},
		step{get, in("acct", "docs"), "", 404, "ContainerNotFound"}, step{put, in("none", "docs"), `{"properties":{}}`, 404, "ParentResourceNotFound"})
	err := s.store.Update(func(tx *store.Tx) error {
		for _, key := range []string{"acct/abc/blob", "acct/abcd/blob", "open/abc/blob", "?acct/abc/blob"} {
			tx.Put(store.Blobs, key, wire.Doc{})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left := func() (out []string) {
		s.store.View(func(tx *store.Tx) {
			for _, r := range tx.Scan(store.Blobs, "") {
				out = append(out, r.Key)
			}
		})
		return out
	}
	play(t, s, step{remove, in("acct", "abc"), "", 200, ""})
	if got := strings.Join(left(), " "); got != "acct/abcd/blob open/abc/blob" {
		t.Errorf("after the deletion of a container there are %s", got)
	}
	play(t, s, step{remove, accountIn + "acct", "", 200, ""})
	if got := strings.Join(left(), " "); got != "open/abc/blob" {
		t.Errorf("after the deletion of an account there are %s", got)
	}
}

// Vaults are deleted softly: https://learn.microsoft.com/azure/key-vault/general/soft-delete-overview.
func TestVaults(t *testing.T) {
	s := gateway(t)
	vault := func(more string) string {
		return `{"location":"westeurope","properties":{"tenantId":"t","sku":{"family":"A","name":"standard"}` + more + `}}`
	}
	deleted := inSubscription + "/providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/"
	have(t, s, secondIn, `{"location":"westeurope"}`, vaultIn+"keeper", vault(`,"enableRbacAuthorization":true`))
	for _, name := range []string{"ab", strings.Repeat("a", 25), "1vault", "va--ult", "vault-", "va_ult"} {
		play(t, s, step{put, vaultIn + name, vault(""), 400, "VaultNameNotValid"})
	}
	if d := shown(t, s, vaultIn+"keeper"); at(d, "properties.vaultUri") != "https://keeper.vault.azure.net/" ||
		at(d, "properties.enableSoftDelete") != true || wire.Number(wire.Props(d), "softDeleteRetentionInDays") != 90 {
		t.Errorf("a vault: %v", d)
	}
	elsewhere := strings.Replace(vaultIn, "/rg/", "/rg2/", 1)
	play(t, s, step{put, elsewhere + "KEEPER", vault(""), 409, "VaultAlreadyExists"},
		step{put, vaultIn + "other", vault(`,"createMode":"recover"`), 404, "VaultNotFound"},
		step{get, deleted + "keeper", "", 404, "DeletedVaultNotFound"}, step{post, deleted + "keeper/purge", "", 404, "DeletedVaultNotFound"},
		step{remove, vaultIn + "keeper", "", 200, ""}, step{get, vaultIn + "keeper", "", 404, "ResourceNotFound"}, step{get, deleted + "KEEPER", "", 200, ""},
		step{put, vaultIn + "keeper", vault(""), 409, "ConflictError"}, step{put, elsewhere + "keeper", vault(""), 409, "ConflictError"},
		step{put, vaultIn + "keeper", vault(`,"createMode":"recover"`), 201, ""}, step{get, deleted + "keeper", "", 404, "DeletedVaultNotFound"})
	if d := shown(t, s, vaultIn+"keeper"); at(d, "properties.enableRbacAuthorization") != true || at(d, "properties.createMode") != nil {
		t.Errorf("a vault that is back is not what it was: %v", d)
	}
	check := func(name string) any {
		return want(t, s, owner, post, inSubscription+"/providers/Microsoft.KeyVault/checkNameAvailability",
			wire.Doc{"name": name, "type": "Microsoft.KeyVault/vaults"}, 200)["nameAvailable"]
	}
	play(t, s, step{remove, vaultIn + "keeper", "", 200, ""})
	if check("keeper") != false || check("free") != true {
		t.Error("the name of a deleted vault is free, or that of none is not")
	}
	play(t, s, step{post, deleted + "keeper/purge", "", 202, ""}, step{put, vaultIn + "keeper", vault(`,"enablePurgeProtection":false`), 400, "BadRequest"},
		step{put, vaultIn + "keeper", vault(`,"enablePurgeProtection":true`), 201, ""},
		step{put, vaultIn + "keeper", vault(`,"enablePurgeProtection":false`), 400, "BadRequest"},
		step{put, vaultIn + "keeper", vault(""), 200, ""}, // what is protected stays so
		step{remove, inGroup, "", 202, ""},                // a vault goes with its group, and stays in the same way
		step{post, deleted + "keeper/purge", "", 405, "MethodNotAllowed"}, step{put, elsewhere + "keeper", vault(""), 409, "ConflictError"})
}

// Credentials of identities: https://learn.microsoft.com/entra/workload-id/workload-identity-federation-considerations.
func TestIdentitiesAndTheirCredentials(t *testing.T) {
	s := gateway(t)
	for _, name := range []string{"ab", "-abc", "a b c", strings.Repeat("a", 129)} {
		play(t, s, step{put, identityID(name), `{"location":"westeurope"}`, 400, "InvalidResourceName"})
	}
	have(t, s, identityID("one"), `{"location":"westeurope"}`, identityID("two"), `{"location":"westeurope"}`)
	before := wire.Props(shown(t, s, identityID("one")))
	have(t, s, identityID("one"), `{"location":"westeurope","tags":{"a":"b"}}`)
	after := wire.Props(shown(t, s, identityID("one")))
	if before["clientId"] == before["principalId"] || before["clientId"] != after["clientId"] || before["principalId"] != after["principalId"] ||
		before["tenantId"] != "t" {
		t.Errorf("an identity that is written again was %v and is %v", before, after)
	}
	credential := func(issuer, subject, audiences string) string {
		return `{"properties":{"issuer":"` + issuer + `","subject":"` + subject + `","audiences":[` + audiences + `]}}`
	}
	in := func(identity, name string) string {
		return identityID(identity) + "/federatedIdentityCredentials/" + name
	}
	const aud = `"openshift"`
	play(t, s, step{put, in("one", "abc"), credential("", "s", aud), 400, "BadRequest"},
		step{put, in("one", "abc"), credential("https://i", "", aud), 400, "BadRequest"},
		step{put, in("one", "abc"), credential("https://i", "s", ""), 400, "BadRequest"},
		step{put, in("one", "abc"), credential("https://i", "s", aud+`,"other"`), 400, "BadRequest"},
		step{put, in("one", "ab"), credential("https://i", "s", aud), 400, "InvalidResourceName"},
		step{put, in("one", "abc"), credential("https://i", "s", aud), 201, ""}, step{put, in("one", "abc"), credential("https://i", "s", aud), 200, ""},
		step{put, in("one", "abd"), credential("https://i", "s", aud), 409, "Conflict"},
		step{put, in("two", "abc"), credential("https://i", "s", aud), 201, ""},
		step{put, in("one", "abd"), credential("https://i", "S", aud), 201, ""}, // subjects are compared as they are written
		step{put, in("none", "abc"), credential("https://i", "s", aud), 404, "ParentResourceNotFound"})
	play(t, s, step{remove, identityID("one"), "", 200, ""}, step{put, identityID("one"), `{"location":"westeurope"}`, 201, ""},
		step{get, in("one", "abc"), "", 404, "NotFound"})
	if again := wire.Props(shown(t, s, identityID("one"))); again["principalId"] == before["principalId"] {
		t.Error("an identity that was deleted and is made again has the principal it had")
	}
}
