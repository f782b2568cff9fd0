// Package vaults is Microsoft.KeyVault of the embedded Azure: vaults, deleted ones among them.
package vaults

import (
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	typeVault    = "Microsoft.KeyVault/vaults"
	typeDeleted  = "Microsoft.KeyVault/deletedVaults"
	vaultsKept   = 90 * 24 * time.Hour // what Azure keeps a deleted vault by default
	vaultRecover = "recover"
)

var vaultName = &provider.NameRule{Pattern: provider.Pattern(`^(?i)[a-z](-?[a-z0-9])*$`), Code: "VaultNameNotValid", Shortest: 3, Longest: 24,
	Demand: "The vault name has 3 to 24 letters, digits and hyphens, begins with a letter, ends with a letter or a digit and has no two hyphens in a row."}

// Spec is what the gateway serves of key vaults.
var Spec = provider.Spec{Namespace: "Microsoft.KeyVault", Kinds: []*provider.Kind{{Type: typeVault, Name: vaultName, Put: putVault, Cleanup: keepDeletedVault}},
	Routes: []provider.Route{
		{Method: "GET", Pattern: "subscriptions/*/providers/microsoft.keyvault/deletedvaults", Handle: deletedVaults},
		{Method: "GET", Pattern: "subscriptions/*/providers/microsoft.keyvault/locations/*/deletedvaults/*", Handle: deletedVault},
		{Method: "POST", Pattern: "subscriptions/*/providers/microsoft.keyvault/locations/*/deletedvaults/*/purge", Handle: purgeVault},
		{Method: "POST", Pattern: "subscriptions/*/providers/microsoft.keyvault/checknameavailability", Handle: vaultNameAvailable},
	}}

// putVault makes a vault whose name nobody has, or takes a deleted one back.
func putVault(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	wantsBack := strings.EqualFold(wire.Text(p, "createMode"), vaultRecover)
	delete(p, "createMode")
	deleted := c.Tx.Get(store.DeletedVaults, provider.Key(r.Name))
	switch {
	case old != nil:
	case deleted != nil && wantsBack:
		for k, v := range wire.Sub(wire.Sub(deleted, "vault"), "properties") {
			p[k] = v
		}
		c.Tx.Delete(store.DeletedVaults, provider.Key(r.Name))
	case deleted != nil:
		return provider.Conflict("ConflictError", "A vault with the same name already exists in deleted state. You need to either recover or purge existing key vault. Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft delete.")
	case wantsBack:
		return provider.Failf(http.StatusNotFound, "VaultNotFound", "There is no deleted vault '%s' to recover.", r.Name)
	}
	for _, o := range c.Within("", typeVault) {
		if o.ID != r.ID && strings.EqualFold(o.Name, r.Name) {
			return provider.Conflict("VaultAlreadyExists", "The vault name '%s' is already in use. Vault names are globally unique so it is possible that the name is already taken.", r.Name)
		}
	}
	switch protected := wire.Props(old)["enablePurgeProtection"] == true; {
	case p["enablePurgeProtection"] == false:
		return provider.BadRequest("BadRequest",
			"The property \"enablePurgeProtection\" cannot be set to false. Enabling the purge protection for a vault is an irreversible action.")
	case protected:
		p["enablePurgeProtection"] = true
	}
	p["vaultUri"] = "https://" + strings.ToLower(r.Name) + ".vault.azure.net/"
	wire.Default(p, "enableSoftDelete", true)
	wire.Default(p, "softDeleteRetentionInDays", int(vaultsKept.Hours()/24))
	return nil
}

// keepDeletedVault has a deleted vault go on holding its name, also one that went with its resource group.
func keepDeletedVault(c *provider.Call, r *provider.Resource) {
	now := time.Now().UTC()
	c.Tx.Put(store.DeletedVaults, provider.Key(r.Name), wire.Doc{"vault": store.Clone(r.Body), "shown": wire.Doc{
		"id":   "/subscriptions/" + c.Subscription + "/providers/Microsoft.KeyVault/locations/" + wire.Text(r.Body, "location") + "/deletedVaults/" + r.Name,
		"name": r.Name, "type": typeDeleted,
		"properties": wire.Doc{"vaultId": r.ID, "location": r.Body["location"], "tags": r.Body["tags"],
			"deletionDate": now.Format(time.RFC3339), "scheduledPurgeDate": now.Add(vaultsKept).Format(time.RFC3339),
			"purgeProtectionEnabled": wire.Props(r.Body)["enablePurgeProtection"]}}})
}

func deletedVaults(c *provider.Call) (*provider.Reply, error) {
	out := []any{}
	for _, rec := range c.Tx.Scan(store.DeletedVaults, "") {
		out = append(out, wire.Sub(rec.Doc, "shown"))
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

func deletedVault(c *provider.Call) (*provider.Reply, error) {
	d := c.Tx.Get(store.DeletedVaults, provider.Key(provider.SegmentAfter(c.Path.Raw, "deletedVaults")))
	if d == nil {
		return nil, provider.Failf(http.StatusNotFound, "DeletedVaultNotFound", "The deleted vault '%s' does not exist.", provider.SegmentAfter(c.Path.Raw, "deletedVaults"))
	}
	return provider.Answer(http.StatusOK, wire.Sub(d, "shown")), nil
}

func purgeVault(c *provider.Call) (*provider.Reply, error) {
	found, err := deletedVault(c)
	if err != nil {
		return nil, err
	}
	if wire.Props(found.Body.(wire.Doc))["purgeProtectionEnabled"] == true {
		return nil, provider.Failf(http.StatusMethodNotAllowed, "MethodNotAllowed", "Operation \"DeletedVaultPurge\" is not allowed: purge protection of the vault is on.")
	}
	name := provider.SegmentAfter(c.Path.Raw, "deletedVaults")
	c.Tx.Delete(store.DeletedVaults, provider.Key(name))
	for _, table := range []store.Table{store.VaultKeys, store.VaultSecrets} {
		for _, r := range c.Tx.Scan(table, strings.ToLower(name)+"/") {
			c.Tx.Delete(table, r.Key)
		}
	}
	out := provider.Answer(http.StatusAccepted, nil)
	c.OperationHeaders(out, c.OperationEnd(), true)
	return out, nil
}

func vaultNameAvailable(c *provider.Call) (*provider.Reply, error) {
	name := wire.Text(c.Body, "name")
	taken := c.Tx.Get(store.DeletedVaults, provider.Key(name)) != nil
	for _, o := range c.Within("", typeVault) {
		taken = taken || strings.EqualFold(o.Name, name)
	}
	if taken {
		return provider.Answer(http.StatusOK, wire.Doc{"nameAvailable": false, "reason": "AlreadyExists", "message": "The name '" + name + "' is already in use."}), nil
	}
	return provider.Answer(http.StatusOK, wire.Doc{"nameAvailable": true}), nil
}
