package keyvault

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // RSA-OAEP is defined with it
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"net/http"
	"slices"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func (c *call) encrypt() (*reply, error) { return c.seal("encrypt") }
func (c *call) wrap() (*reply, error)    { return c.seal("wrapKey") }
func (c *call) decrypt() (*reply, error) { return c.open("decrypt") }
func (c *call) unwrap() (*reply, error)  { return c.open("unwrapKey") }

// usable finds the key and checks that it may do the operation.
func (c *call) usable(operation string) (Doc, *rsa.PrivateKey, error) {
	d, err := c.find()
	if err != nil {
		return nil, nil, err
	}
	attributes := wire.Sub(d, "attributes")
	if attributes["enabled"] == false {
		return nil, nil, forbidden("KeyDisabled", "Operation %s is not allowed on a disabled key.", operation)
	}
	if !slices.Contains(wire.Texts(d, "key_ops"), operation) {
		return nil, nil, forbidden("KeyOperationForbidden", "Operation %s is not permitted on this key.", operation)
	}
	// Beyond its time a key still opens: https://learn.microsoft.com/azure/key-vault/keys/about-keys-details#date-time-controlled-operations.
	begins, expires, now := int64(wire.Number(attributes, "nbf")), int64(wire.Number(attributes, "exp")), time.Now().Unix()
	switch seals := operation == "encrypt" || operation == "wrapKey"; {
	case seals && begins > now:
		return nil, nil, forbidden("KeyNotYetValid", "Operation %s is not allowed on a key that is not yet valid.", operation)
	case seals && expires > 0 && now >= expires:
		return nil, nil, forbidden("KeyExpired", "Operation %s is not allowed on an expired key.", operation)
	}
	private, err := privateKey(d)
	return d, private, err
}

// input is the algorithm and the decoded value of the request. A nil hash is PKCS #1 v1.5.
func (c *call) input() (hash.Hash, []byte, error) {
	value, err := base64.RawURLEncoding.DecodeString(wire.Text(c.body, "value"))
	if err != nil || len(value) == 0 {
		return nil, nil, failf(http.StatusBadRequest, "BadParameter", "Property value is missing or not base64url.")
	}
	switch algorithm := wire.Text(c.body, "alg"); algorithm {
	case "RSA-OAEP-256":
		return sha256.New(), value, nil
	case "RSA-OAEP":
		return sha1.New(), value, nil
	case "RSA1_5":
		return nil, value, nil
	default:
		return nil, nil, failf(http.StatusBadRequest, "BadParameter", "Property alg has the invalid value %q.", algorithm)
	}
}

func (c *call) seal(operation string) (*reply, error) {
	d, private, err := c.usable(operation)
	if err != nil {
		return nil, err
	}
	digest, value, err := c.input()
	if err != nil {
		return nil, err
	}
	var sealed []byte
	if digest == nil {
		sealed, err = rsa.EncryptPKCS1v15(rand.Reader, &private.PublicKey, value)
	} else {
		sealed, err = rsa.EncryptOAEP(digest, rand.Reader, &private.PublicKey, value, nil)
	}
	if err != nil {
		return nil, failf(http.StatusBadRequest, "BadParameter", "The value cannot be encrypted with this key: %v", err)
	}
	return c.result(d, sealed), nil
}

func (c *call) open(operation string) (*reply, error) {
	d, private, err := c.usable(operation)
	if err != nil {
		return nil, err
	}
	digest, value, err := c.input()
	if err != nil {
		return nil, err
	}
	var plain []byte
	if digest == nil {
		plain, err = rsa.DecryptPKCS1v15(nil, private, value)
	} else {
		plain, err = rsa.DecryptOAEP(digest, nil, private, value, nil)
	}
	if err != nil {
		return nil, failf(http.StatusBadRequest, "BadParameter", "The parameter is incorrect: the value was not encrypted with this key.")
	}
	return c.result(d, plain), nil
}

func (c *call) result(d Doc, value []byte) *reply {
	return ok(Doc{"kid": c.keyID(d, true), "value": base64.RawURLEncoding.EncodeToString(value)})
}
