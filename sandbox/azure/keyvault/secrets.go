package keyvault

import (
	"net/http"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// longestSecret is how many bytes a secret may have.
const longestSecret = 25 << 10

func (c *call) setSecret() (*reply, error) {
	value, isText := c.body["value"].(string)
	switch {
	case !keyName().MatchString(c.name):
		return nil, failf(http.StatusBadRequest, "BadParameter", "The request URI contains an invalid name: %s", c.name)
	case !isText || len(value) > longestSecret:
		return nil, failf(http.StatusBadRequest, "BadParameter", "Property value is missing or has more than %d bytes.", longestSecret)
	}
	if err := c.nameFree(); err != nil {
		return nil, err
	}
	d := Doc{"name": c.name, "version": newVersionID(), "value": value, "contentType": c.body["contentType"], "tags": c.body["tags"], "attributes": newAttributes(wire.Sub(c.body, "attributes"))}
	c.tx.Put(c.kind.table, c.prefix()+wire.Text(d, "version"), d)
	return ok(c.secretBundle(d)), nil
}

// secretItem is a secret without what it holds.
func (c *call) secretItem(d Doc, version bool) Doc {
	out := Doc{"id": c.keyID(d, version), "attributes": c.shownAttributes(d)}
	for _, optional := range []string{"contentType", "tags"} {
		if d[optional] != nil {
			out[optional] = d[optional]
		}
	}
	return out
}

func (c *call) secretBundle(d Doc) Doc {
	out := c.secretItem(d, true)
	out["value"] = d["value"]
	return out
}

func (c *call) getSecret() (*reply, error) {
	d, err := c.find()
	if err != nil {
		return nil, err
	}
	// Its time is the reader's business: https://learn.microsoft.com/azure/key-vault/secrets/about-secrets#date-time-controlled-operations.
	if wire.Sub(d, "attributes")["enabled"] == false {
		return nil, forbidden("SecretDisabled", "Operation get is not allowed on a disabled secret.")
	}
	return ok(c.secretBundle(d)), nil
}

func (c *call) updateSecret() (*reply, error) {
	found, err := c.find()
	if err != nil {
		return nil, err
	}
	d := c.tx.Edit(c.kind.table, c.prefix()+wire.Text(found, "version"))
	for _, member := range []string{"contentType", "tags"} {
		if c.body[member] != nil {
			d[member] = c.body[member]
		}
	}
	wire.Merge(wire.Sub(d, "attributes"), wire.Sub(c.body, "attributes"))
	wire.Sub(d, "attributes")["updated"] = time.Now().Unix()
	return ok(c.secretItem(d, true)), nil
}

func (c *call) listSecrets() (*reply, error) {
	out := []any{}
	for _, d := range c.newest(false) {
		out = append(out, c.secretItem(d, false))
	}
	return ok(Doc{"value": out, "nextLink": nil}), nil
}

func (c *call) listSecretVersions() (*reply, error) {
	out := []any{}
	for _, r := range c.versions(false) {
		out = append(out, c.secretItem(r.Doc, true))
	}
	return ok(Doc{"value": out, "nextLink": nil}), nil
}

func (c *call) deletedSecret(d Doc, version bool) Doc {
	out := c.secretItem(d, version)
	for k, v := range c.deletion(d) {
		out[k] = v
	}
	return out
}

func (c *call) deleteSecret() (*reply, error) {
	d, err := c.markDeleted()
	if err != nil {
		return nil, err
	}
	return ok(c.deletedSecret(d, true)), nil
}

func (c *call) listDeletedSecrets() (*reply, error) {
	out := []any{}
	for _, d := range c.newest(true) {
		out = append(out, c.deletedSecret(d, false))
	}
	return ok(Doc{"value": out, "nextLink": nil}), nil
}

func (c *call) getDeletedSecret() (*reply, error) {
	all, err := c.findDeleted()
	if err != nil {
		return nil, err
	}
	return ok(c.deletedSecret(all[len(all)-1].Doc, true)), nil
}

func (c *call) recoverSecret() (*reply, error) {
	d, err := c.takeBack()
	if err != nil {
		return nil, err
	}
	return ok(c.secretItem(d, true)), nil
}

func (c *call) purgeSecret() (*reply, error) { return c.purgeKey() }
