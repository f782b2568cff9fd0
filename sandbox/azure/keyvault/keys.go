package keyvault

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// keptFor is what a vault keeps deleted keys for, in days.
const keptFor = 90

var (
	keyName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-zA-Z-]{1,127}$`)
	})
	allowedOps = []any{"encrypt", "decrypt", "sign", "verify", "wrapKey", "unwrapKey"}
	keySizes   = map[int]bool{2048: true, 3072: true, 4096: true}
)

// Prefix of the keys of a vault in the store.
func Prefix(vault string) string { return strings.ToLower(vault) + "/" }

func (c *call) prefix() string { return Prefix(c.vaultName) + strings.ToLower(c.name) + "/" }

// versions of the key or secret, the oldest first; deleted ones only when asked for.
func (c *call) versions(deleted bool) []*store.Record {
	var out []*store.Record
	for _, r := range c.tx.Scan(c.kind.table, c.prefix()) {
		if (r.Doc["deleted"] != nil) == deleted {
			out = append(out, r)
		}
	}
	return out
}

// find returns the version that the request names, or the newest.
func (c *call) find() (Doc, error) {
	all := c.versions(false)
	for i := len(all) - 1; i >= 0; i-- {
		if c.version == "" || strings.EqualFold(wire.Text(all[i].Doc, "version"), c.version) {
			return all[i].Doc, nil
		}
	}
	return nil, failf(http.StatusNotFound, c.kind.noun+"NotFound", "A %[1]s with (name/id) %[2]s was not found in this key vault. If you recently deleted this %[1]s you may be able to recover it using the correct recovery command.",
		strings.ToLower(c.kind.noun), strings.TrimSuffix(c.name+"/"+c.version, "/"))
}

// nameFree refuses to make what is deleted and can come back.
func (c *call) nameFree() error {
	if len(c.versions(true)) == 0 {
		return nil
	}
	return failf(http.StatusConflict, "Conflict", "%[1]s %[2]s is currently in a deleted but recoverable state, and its name cannot be reused; in this state, the %[3]s can only be recovered or purged.", c.kind.noun, c.name, strings.ToLower(c.kind.noun))
}

func newVersionID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// attributes of a new version, with what the caller asks for.
func newAttributes(given Doc) Doc {
	now := time.Now().Unix()
	out := Doc{"enabled": true, "created": now, "updated": now}
	wire.Merge(out, given)
	return out
}

func (c *call) createKey() (*reply, error) {
	if !keyName().MatchString(c.name) {
		return nil, failf(http.StatusBadRequest, "BadParameter", "The request URI contains an invalid name: %s", c.name)
	}
	if kind := wire.Text(c.body, "kty"); kind != "RSA" && kind != "RSA-HSM" {
		return nil, failf(http.StatusBadRequest, "BadParameter", "Property kty has value %q; the embedded Azure makes RSA keys only.", kind)
	}
	wire.Default(c.body, "key_size", 2048)
	wire.Default(c.body, "key_ops", allowedOps)
	if size := wire.Number(c.body, "key_size"); !keySizes[size] {
		return nil, failf(http.StatusBadRequest, "BadParameter", "Property key_size has the invalid value %d.", size)
	}
	if err := c.nameFree(); err != nil {
		return nil, err
	}
	return c.newVersion(c.body)
}

func (c *call) rotateKey() (*reply, error) {
	last, err := c.find()
	if err != nil {
		return nil, err
	}
	return c.newVersion(Doc{"kty": last["kty"], "key_size": last["key_size"], "key_ops": last["key_ops"], "tags": last["tags"]})
}

func (c *call) newVersion(properties Doc) (*reply, error) {
	private, err := rsa.GenerateKey(rand.Reader, wire.Number(properties, "key_size"))
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	d := Doc{"name": c.name, "version": newVersionID(), "kty": properties["kty"], "key_size": wire.Number(properties, "key_size"), "key_ops": properties["key_ops"],
		"tags": properties["tags"], "attributes": newAttributes(wire.Sub(properties, "attributes")), "private": base64.StdEncoding.EncodeToString(encoded)}
	c.tx.Put(store.VaultKeys, c.prefix()+wire.Text(d, "version"), d)
	return c.bundle(d)
}

func privateKey(d Doc) (*rsa.PrivateKey, error) {
	der, err := base64.StdEncoding.DecodeString(wire.Text(d, "private"))
	if err != nil {
		return nil, fmt.Errorf("decoding a stored key: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("decoding a stored key: %w", err)
	}
	return key.(*rsa.PrivateKey), nil // newVersion makes no other
}

func (c *call) keyID(d Doc, version bool) string {
	id := "https://" + c.vaultName + Suffix + "/" + c.kind.plural + "/" + wire.Text(d, "name")
	if version {
		id += "/" + wire.Text(d, "version")
	}
	return id
}

func (c *call) shownAttributes(d Doc) Doc {
	out := store.Clone(wire.Sub(d, "attributes"))
	out["recoveryLevel"], out["recoverableDays"] = "Recoverable+Purgeable", keptFor
	if c.purgeProtected() {
		out["recoveryLevel"] = "Recoverable"
	}
	return out
}

// purgeProtected tells whether nothing in the vault goes before its time.
func (c *call) purgeProtected() bool { return wire.Props(c.vault)["enablePurgeProtection"] == true }

// bundle shows the public half.
func (c *call) bundle(d Doc) (*reply, error) {
	private, err := privateKey(d)
	if err != nil {
		return nil, err
	}
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	out := Doc{"key": Doc{"kid": c.keyID(d, true), "kty": d["kty"], "key_ops": d["key_ops"], "n": number(private.N), "e": number(big.NewInt(int64(private.E)))},
		"attributes": c.shownAttributes(d)}
	if d["tags"] != nil {
		out["tags"] = d["tags"]
	}
	return ok(out), nil
}

func (c *call) getKey() (*reply, error) {
	d, err := c.find()
	if err != nil {
		return nil, err
	}
	return c.bundle(d)
}

func (c *call) updateKey() (*reply, error) {
	found, err := c.find()
	if err != nil {
		return nil, err
	}
	d := c.tx.Edit(store.VaultKeys, c.prefix()+wire.Text(found, "version"))
	for _, member := range []string{"key_ops", "tags"} {
		if c.body[member] != nil {
			d[member] = c.body[member]
		}
	}
	wire.Merge(wire.Sub(d, "attributes"), wire.Sub(c.body, "attributes"))
	wire.Sub(d, "attributes")["updated"] = time.Now().Unix()
	return c.bundle(d)
}

func (c *call) listVersions() (*reply, error) {
	out := []any{}
	for _, r := range c.versions(false) {
		out = append(out, Doc{"kid": c.keyID(r.Doc, true), "attributes": c.shownAttributes(r.Doc)})
	}
	return ok(Doc{"value": out, "nextLink": nil}), nil
}

// newest versions of all keys, or secrets, of the vault.
func (c *call) newest(deleted bool) []Doc {
	var names []string
	last := map[string]Doc{}
	for _, r := range c.tx.Scan(c.kind.table, Prefix(c.vaultName)) {
		if (r.Doc["deleted"] != nil) != deleted {
			continue
		}
		name := strings.ToLower(wire.Text(r.Doc, "name"))
		if last[name] == nil {
			names = append(names, name)
		}
		last[name] = r.Doc
	}
	var out []Doc
	for _, name := range names {
		out = append(out, last[name])
	}
	return out
}

func (c *call) listKeys() (*reply, error) {
	out := []any{}
	for _, d := range c.newest(false) {
		out = append(out, Doc{"kid": c.keyID(d, false), "attributes": c.shownAttributes(d)})
	}
	return ok(Doc{"value": out, "nextLink": nil}), nil
}
