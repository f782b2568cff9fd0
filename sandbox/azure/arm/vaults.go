package arm

import (
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	typeVault    = "Microsoft.KeyVault/vaults"
	typeDeleted  = "Microsoft.KeyVault/deletedVaults"
	vaultsKept   = 90 * 24 * time.Hour // what Azure keeps a deleted vault by default
	vaultRecover = "recover"
)

var vaultKinds = []*Kind{{Type: typeVault, put: putVault, cleanup: keepDeletedVault}}

// putVault makes a vault whose name nobody has, or takes a deleted one back.
func putVault(c *call, r *Resource, old Doc) error {
	p := wire.EnsureProps(r.Body)
	wantsBack := strings.EqualFold(wire.Text(p, "createMode"), vaultRecover)
	delete(p, "createMode")
	deleted := c.tx.Get(store.DeletedVaults, key(r.Name))
	switch {
	case old != nil:
	case deleted != nil && wantsBack:
		for k, v := range wire.Sub(wire.Sub(deleted, "vault"), "properties") {
			p[k] = v
		}
		c.tx.Delete(store.DeletedVaults, key(r.Name))
	case deleted != nil:
		return conflict("ConflictError", "A vault with the same name already exists in deleted state. You need to either recover or purge existing key vault. Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft delete.")
	case wantsBack:
		return failf(http.StatusNotFound, "VaultNotFound", "There is no deleted vault '%s' to recover.", r.Name)
	}
	for _, o := range c.within("", typeVault) {
		if o.ID != r.ID && strings.EqualFold(o.Name, r.Name) {
			return conflict("VaultAlreadyExists", "The vault name '%s' is already in use. Vault names are globally unique so it is possible that the name is already taken.", r.Name)
		}
	}
	p["vaultUri"] = "https://" + strings.ToLower(r.Name) + ".vault.azure.net/"
	wire.Default(p, "enableSoftDelete", true)
	wire.Default(p, "softDeleteRetentionInDays", int(vaultsKept.Hours()/24))
	return nil
}

// keepDeletedVault has a deleted vault go on holding its name, also one that went with its resource group.
func keepDeletedVault(c *call, r *Resource) {
	now := time.Now().UTC()
	c.tx.Put(store.DeletedVaults, key(r.Name), Doc{"vault": store.Clone(r.Body), "shown": Doc{
		"id":   "/subscriptions/" + c.Subscription + "/providers/Microsoft.KeyVault/locations/" + wire.Text(r.Body, "location") + "/deletedVaults/" + r.Name,
		"name": r.Name, "type": typeDeleted,
		"properties": Doc{"vaultId": r.ID, "location": r.Body["location"], "tags": r.Body["tags"],
			"deletionDate": now.Format(time.RFC3339), "scheduledPurgeDate": now.Add(vaultsKept).Format(time.RFC3339),
			"purgeProtectionEnabled": wire.Props(r.Body)["enablePurgeProtection"]}}})
}

func (c *call) deletedVaults() (*reply, error) {
	out := []any{}
	for _, rec := range c.tx.Scan(store.DeletedVaults, "") {
		out = append(out, wire.Sub(rec.Doc, "shown"))
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

func (c *call) deletedVault() (*reply, error) {
	d := c.tx.Get(store.DeletedVaults, key(segmentAfter(c.path.Raw, "deletedVaults")))
	if d == nil {
		return nil, failf(http.StatusNotFound, "DeletedVaultNotFound", "The deleted vault '%s' does not exist.", segmentAfter(c.path.Raw, "deletedVaults"))
	}
	return answer(http.StatusOK, wire.Sub(d, "shown")), nil
}

func (c *call) purgeVault() (*reply, error) {
	found, err := c.deletedVault()
	if err != nil {
		return nil, err
	}
	if wire.Props(found.body.(Doc))["purgeProtectionEnabled"] == true {
		return nil, failf(http.StatusMethodNotAllowed, "MethodNotAllowed", "Operation \"DeletedVaultPurge\" is not allowed: purge protection of the vault is on.")
	}
	name := segmentAfter(c.path.Raw, "deletedVaults")
	c.tx.Delete(store.DeletedVaults, key(name))
	for _, table := range []store.Table{store.VaultKeys, store.VaultSecrets} {
		for _, r := range c.tx.Scan(table, strings.ToLower(name)+"/") {
			c.tx.Delete(table, r.Key)
		}
	}
	out := answer(http.StatusAccepted, nil)
	c.operationHeaders(out, c.operationEnd(), true)
	return out, nil
}

func (c *call) vaultNameAvailable() (*reply, error) {
	name := wire.Text(c.body, "name")
	taken := c.tx.Get(store.DeletedVaults, key(name)) != nil
	for _, o := range c.within("", typeVault) {
		taken = taken || strings.EqualFold(o.Name, name)
	}
	if taken {
		return answer(http.StatusOK, Doc{"nameAvailable": false, "reason": "AlreadyExists", "message": "The name '" + name + "' is already in use."}), nil
	}
	return answer(http.StatusOK, Doc{"nameAvailable": true}), nil
}
