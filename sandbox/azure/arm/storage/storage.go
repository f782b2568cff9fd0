// Package storage is Microsoft.Storage of the embedded Azure: accounts, their keys and containers.
package storage

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of storage.
const (
	TypeAccount     = "Microsoft.Storage/storageAccounts"
	typeBlobService = TypeAccount + "/blobServices"
	TypeContainer   = typeBlobService + "/containers"
)

// Spec is what the gateway serves of storage.
var Spec = provider.Spec{Namespace: "Microsoft.Storage", Kinds: []*provider.Kind{
	{Type: TypeAccount, CreateOK: true, Keep: []string{"creationTime"}, Put: putStorageAccount, Cleanup: cleanupStorageAccount},
	{Type: typeBlobService, NoState: true, CreateOK: true},
	{Type: TypeContainer, NoState: true, Missing: "ContainerNotFound", Put: putContainer, Cleanup: cleanupContainer},
},
	Routes: []provider.Route{{Method: "POST", Pattern: "subscriptions/*/providers/microsoft.storage/checknameavailability", Handle: storageNameAvailable}},
	Actions: map[string]provider.Action{
		"microsoft.storage/storageaccounts/listkeys":                 listStorageKeys,
		"microsoft.storage/storageaccounts/regeneratekey":            regenerateStorageKey,
		"microsoft.storage/storageaccounts/revokeuserdelegationkeys": revokeDelegationKeys,
	}}

var (
	accountName   = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	containerName = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)
)

// ValidContainer tells whether Azure takes the name of a container.
func ValidContainer(name string) bool {
	switch name {
	case "$root", "$web", "$logs":
		return true
	}
	return len(name) >= 3 && len(name) <= 63 && containerName.MatchString(name)
}

func putStorageAccount(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	if !accountName.MatchString(r.Name) {
		return provider.BadRequest("AccountNameInvalid", "%s is not a valid storage account name. Storage account name must be between 3 and 24 characters in length and use numbers and lower-case letters only.", r.Name)
	}
	for _, o := range c.Within("", TypeAccount) {
		if o.Name == r.Name && o.ID != r.ID {
			return provider.Conflict("StorageAccountAlreadyTaken", "The storage account named %s is already taken.", r.Name)
		}
	}
	p := wire.EnsureProps(r.Body)
	ends := wire.Doc{}
	for _, svc := range []string{"blob", "dfs", "file", "queue", "table"} {
		ends[svc] = "https://" + r.Name + "." + svc + ".core.windows.net/"
	}
	ends["web"] = "https://" + r.Name + ".z13.web.core.windows.net/"
	p["primaryEndpoints"] = ends
	p["statusOfPrimary"], p["primaryLocation"] = "available", r.Body["location"]
	wire.Default(p, "creationTime", time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z"))
	wire.Default(p, "allowBlobPublicAccess", false)
	wire.Default(p, "supportsHttpsTrafficOnly", true)
	// What Azure answers of an account that says nothing of these: https://learn.microsoft.com/rest/api/storagerp/storage-accounts/get-properties.
	wire.Default(p, "minimumTlsVersion", "TLS1_0")
	wire.Default(p, "accessTier", "Hot")
	wire.Default(p, "networkAcls", wire.Doc{"bypass": "AzureServices", "defaultAction": "Allow", "ipRules": []any{}, "virtualNetworkRules": []any{}})
	encrypted := wire.Doc{"enabled": true, "keyType": "Account"}
	wire.Default(p, "encryption", wire.Doc{"keySource": "Microsoft.Storage", "services": wire.Doc{"blob": encrypted, "file": encrypted}})
	wire.Default(p, "privateEndpointConnections", []any{})
	wire.Default(r.Body, "kind", "StorageV2")
	if old != nil {
		return nil
	}
	c.Save(r.ID+"/blobServices/default", typeBlobService, wire.Doc{"properties": wire.Doc{}})
	c.Tx.Put(store.StorageKeys, provider.Key(r.ID), wire.Doc{"key1": NewKey(), "key2": NewKey()})
	return nil
}

// DelegationSecret is where the keys of an account hold what user delegation keys are derived from.
const DelegationSecret = "delegation"

// NewKey makes a key of the size that accounts have.
func NewKey() string {
	b := make([]byte, 64)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

func cleanupStorageAccount(c *provider.Call, r *provider.Resource) {
	c.Tx.Delete(store.StorageKeys, provider.Key(r.ID))
	for _, prefix := range []string{r.Name + "/", "?" + r.Name + "/", "?" + r.Name + "?"} { // blobs, blocks and the website
		removeBlobs(c, prefix)
	}
}

func removeBlobs(c *provider.Call, prefix string) {
	for _, b := range c.Tx.Scan(store.Blobs, prefix) {
		c.Tx.Delete(store.Blobs, b.Key)
	}
}

func putContainer(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	if !ValidContainer(r.Name) {
		return provider.BadRequest("InvalidResourceName", "The container name '%s' is not valid.", r.Name)
	}
	account := c.Get(r.ID[:strings.Index(r.ID, "/blobServices/")])
	p := wire.EnsureProps(r.Body)
	wire.Default(p, "publicAccess", "None")
	if account != nil && wire.Text(p, "publicAccess") != "None" && wire.Props(account.Body)["allowBlobPublicAccess"] != true {
		return provider.Conflict("PublicAccessNotPermitted", "Public access is not permitted on this storage account.")
	}
	wire.Default(p, "leaseStatus", "Unlocked")
	wire.Default(p, "leaseState", "Available")
	p["lastModifiedTime"] = time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z")
	return nil
}

func cleanupContainer(c *provider.Call, r *provider.Resource) {
	at := provider.SegmentAfter(r.ID, "storageAccounts") + "/" + r.Name + "/"
	removeBlobs(c, at)
	removeBlobs(c, "?"+at) // blocks of no blob yet
}

func listStorageKeys(c *provider.Call, r *provider.Resource) (*provider.Reply, error) {
	keys := c.Tx.Get(store.StorageKeys, provider.Key(r.ID))
	var out []any
	for _, name := range []string{"key1", "key2"} {
		out = append(out, wire.Doc{"keyName": name, "value": keys[name], "permissions": "Full", "creationTime": wire.Props(r.Body)["creationTime"]})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"keys": out}), nil
}

func regenerateStorageKey(c *provider.Call, r *provider.Resource) (*provider.Reply, error) {
	keys := c.Tx.Edit(store.StorageKeys, provider.Key(r.ID))
	name := wire.Text(c.Body, "keyName")
	if keys == nil || name != "key1" && name != "key2" {
		return nil, provider.BadRequest("InvalidValuesForRequestParameters", "There is no key '%s'.", name)
	}
	keys[name] = NewKey()
	return listStorageKeys(c, r)
}

// revokeDelegationKeys makes every user delegation key of the account worthless, and what was signed with one.
func revokeDelegationKeys(c *provider.Call, r *provider.Resource) (*provider.Reply, error) {
	delete(c.Tx.Edit(store.StorageKeys, provider.Key(r.ID)), DelegationSecret)
	return provider.Answer(http.StatusOK, nil), nil
}

func storageNameAvailable(c *provider.Call) (*provider.Reply, error) {
	name := wire.Text(c.Body, "name")
	if !accountName.MatchString(name) {
		return provider.Answer(http.StatusOK, wire.Doc{"nameAvailable": false, "reason": "AccountNameInvalid", "message": name + " is not a valid storage account name. Storage account name must be between 3 and 24 characters in length and use numbers and lower-case letters only."}), nil
	}
	for _, o := range c.Within("", TypeAccount) {
		if o.Name == name {
			return provider.Answer(http.StatusOK, wire.Doc{"nameAvailable": false, "reason": "AlreadyExists", "message": "The storage account named " + name + " is already taken."}), nil
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"nameAvailable": true}), nil
}
