package arm

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of storage.
const (
	TypeStorageAccount = "Microsoft.Storage/storageAccounts"
	typeBlobService    = TypeStorageAccount + "/blobServices"
	TypeContainer      = typeBlobService + "/containers"
)

var storageKinds = []*Kind{
	{Type: TypeStorageAccount, createOK: true, keep: []string{"creationTime"}, put: putStorageAccount, cleanup: cleanupStorageAccount},
	{Type: typeBlobService, noState: true, createOK: true},
	{Type: TypeContainer, noState: true, missing: "ContainerNotFound", put: putContainer, cleanup: cleanupContainer},
}

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

func putStorageAccount(c *call, r *Resource, old Doc) error {
	if !accountName.MatchString(r.Name) {
		return badRequest("AccountNameInvalid", "%s is not a valid storage account name. Storage account name must be between 3 and 24 characters in length and use numbers and lower-case letters only.", r.Name)
	}
	for _, o := range c.within("", TypeStorageAccount) {
		if o.Name == r.Name && o.ID != r.ID {
			return conflict("StorageAccountAlreadyTaken", "The storage account named %s is already taken.", r.Name)
		}
	}
	p := wire.EnsureProps(r.Body)
	ends := Doc{}
	for _, svc := range []string{"blob", "dfs", "file", "queue", "table"} {
		ends[svc] = "https://" + r.Name + "." + svc + ".core.windows.net/"
	}
	ends["web"] = "https://" + r.Name + ".z13.web.core.windows.net/"
	p["primaryEndpoints"] = ends
	p["statusOfPrimary"], p["primaryLocation"] = "available", r.Body["location"]
	wire.Default(p, "creationTime", time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z"))
	wire.Default(p, "allowBlobPublicAccess", false)
	wire.Default(p, "supportsHttpsTrafficOnly", true)
	wire.Default(r.Body, "kind", "StorageV2")
	if old != nil {
		return nil
	}
	c.save(r.ID+"/blobServices/default", typeBlobService, Doc{"properties": Doc{}})
	c.tx.Put(store.StorageKeys, key(r.ID), Doc{"key1": NewStorageKey(), "key2": NewStorageKey()})
	return nil
}

// DelegationSecret is where the keys of an account hold what user delegation keys are derived from.
const DelegationSecret = "delegation"

// NewStorageKey makes a key of the size that accounts have.
func NewStorageKey() string {
	b := make([]byte, 64)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

func cleanupStorageAccount(c *call, r *Resource) {
	c.tx.Delete(store.StorageKeys, key(r.ID))
	for _, prefix := range []string{r.Name + "/", "?" + r.Name + "/", "?" + r.Name + "?"} { // blobs, blocks and the website
		c.removeBlobs(prefix)
	}
}

func (c *call) removeBlobs(prefix string) {
	for _, b := range c.tx.Scan(store.Blobs, prefix) {
		c.tx.Delete(store.Blobs, b.Key)
	}
}

func putContainer(c *call, r *Resource, _ Doc) error {
	if !ValidContainer(r.Name) {
		return badRequest("InvalidResourceName", "The container name '%s' is not valid.", r.Name)
	}
	account := c.get(r.ID[:strings.Index(r.ID, "/blobServices/")])
	p := wire.EnsureProps(r.Body)
	wire.Default(p, "publicAccess", "None")
	if account != nil && wire.Text(p, "publicAccess") != "None" && wire.Props(account.Body)["allowBlobPublicAccess"] != true {
		return conflict("PublicAccessNotPermitted", "Public access is not permitted on this storage account.")
	}
	wire.Default(p, "leaseStatus", "Unlocked")
	wire.Default(p, "leaseState", "Available")
	p["lastModifiedTime"] = time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z")
	return nil
}

func cleanupContainer(c *call, r *Resource) {
	at := segmentAfter(r.ID, "storageAccounts") + "/" + r.Name + "/"
	c.removeBlobs(at)
	c.removeBlobs("?" + at) // blocks of no blob yet
}

func listStorageKeys(c *call, r *Resource) (*reply, error) {
	keys := orEmpty(c.tx.Get(store.StorageKeys, key(r.ID)))
	var out []any
	for _, name := range []string{"key1", "key2"} {
		out = append(out, Doc{"keyName": name, "value": keys[name], "permissions": "FULL", "creationTime": wire.Props(r.Body)["creationTime"]})
	}
	return answer(http.StatusOK, Doc{"keys": out}), nil
}

func regenerateStorageKey(c *call, r *Resource) (*reply, error) {
	keys := c.tx.Edit(store.StorageKeys, key(r.ID))
	name := wire.Text(c.body, "keyName")
	if keys == nil || name != "key1" && name != "key2" {
		return nil, badRequest("InvalidValuesForRequestParameters", "There is no key '%s'.", name)
	}
	keys[name] = NewStorageKey()
	return listStorageKeys(c, r)
}

// revokeDelegationKeys makes every user delegation key of the account worthless, and what was signed with one.
func revokeDelegationKeys(c *call, r *Resource) (*reply, error) {
	delete(orEmpty(c.tx.Edit(store.StorageKeys, key(r.ID))), DelegationSecret)
	return answer(http.StatusOK, nil), nil
}

func (c *call) storageNameAvailable() (*reply, error) {
	name := wire.Text(c.body, "name")
	if !accountName.MatchString(name) {
		return answer(http.StatusOK, Doc{"nameAvailable": false, "reason": "AccountNameInvalid", "message": name + " is not a valid storage account name. Storage account name must be between 3 and 24 characters in length and use numbers and lower-case letters only."}), nil
	}
	for _, o := range c.within("", TypeStorageAccount) {
		if o.Name == name {
			return answer(http.StatusOK, Doc{"nameAvailable": false, "reason": "AlreadyExists", "message": "The storage account named " + name + " is already taken."}), nil
		}
	}
	return answer(http.StatusOK, Doc{"nameAvailable": true}), nil
}
