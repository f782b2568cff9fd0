package keyvault

import (
	"net/http"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// deleteKey keeps every version, for who wants the key back.
func (c *call) deleteKey() (*reply, error) {
	d, err := c.markDeleted()
	if err != nil {
		return nil, err
	}
	return c.deletedBundle(d)
}

// markDeleted returns the version that was the newest.
func (c *call) markDeleted() (Doc, error) {
	d, err := c.find()
	if err != nil {
		return nil, err
	}
	deleted := time.Now().Unix()
	for _, r := range c.versions(false) {
		c.tx.Edit(c.kind.table, r.Key)["deleted"] = deleted
	}
	return c.tx.Get(c.kind.table, c.prefix()+wire.Text(d, "version")), nil
}

func (c *call) deletedBundle(d Doc) (*reply, error) {
	out, err := c.bundle(d)
	if err != nil {
		return nil, err
	}
	shown := out.body.(Doc) // bundle makes no other
	for k, v := range c.deletion(d) {
		shown[k] = v
	}
	return out, nil
}

func (c *call) deletion(d Doc) Doc {
	at := time.Unix(int64(wire.Number(d, "deleted")), 0)
	if seconds, isNew := d["deleted"].(int64); isNew {
		at = time.Unix(seconds, 0)
	}
	return Doc{"recoveryId": "https://" + c.vaultName + Suffix + "/deleted" + c.kind.plural + "/" + wire.Text(d, "name"),
		"deletedDate": at.Unix(), "scheduledPurgeDate": at.AddDate(0, 0, keptFor).Unix()}
}

func (c *call) findDeleted() ([]*store.Record, error) {
	all := c.versions(true)
	if len(all) == 0 {
		return nil, failf(http.StatusNotFound, c.kind.noun+"NotFound", "Deleted %s not found: %s", c.kind.noun, c.name)
	}
	return all, nil
}

func (c *call) getDeleted() (*reply, error) {
	all, err := c.findDeleted()
	if err != nil {
		return nil, err
	}
	return c.deletedBundle(all[len(all)-1].Doc)
}

func (c *call) listDeleted() (*reply, error) {
	out := []any{}
	for _, d := range c.newest(true) {
		entry := c.deletion(d)
		entry["kid"], entry["attributes"] = c.keyID(d, false), c.shownAttributes(d)
		out = append(out, entry)
	}
	return ok(Doc{"value": out, "nextLink": nil}), nil
}

func (c *call) recoverKey() (*reply, error) {
	d, err := c.takeBack()
	if err != nil {
		return nil, err
	}
	return c.bundle(d)
}

// takeBack returns the newest version of what was deleted.
func (c *call) takeBack() (Doc, error) {
	all, err := c.findDeleted()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		delete(c.tx.Edit(c.kind.table, r.Key), "deleted")
	}
	return all[len(all)-1].Doc, nil
}

func (c *call) purgeKey() (*reply, error) {
	all, err := c.findDeleted()
	if err != nil {
		return nil, err
	}
	if c.purgeProtected() {
		return nil, forbidden("", "Operation \"purge\" is not allowed because purge protection is enabled for this vault. Key Vault service will "+
			"automatically purge it after the retention period has passed.\r\nVault: %s;location=%s",
			c.vaultName, wire.Text(c.vault, "location"))
	}
	for _, r := range all {
		c.tx.Delete(c.kind.table, r.Key)
	}
	return &reply{status: http.StatusNoContent}, nil
}
