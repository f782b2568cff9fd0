package keyvault

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// operation of the data plane. Action is the one of roles after vaults/keys/ or vaults/secrets/, permission the one of access policies.
type operation struct {
	action, permission string
	write              bool
	run                func(*call) (*reply, error)
}

var (
	createKey   = &operation{"create/action", "create", true, (*call).createKey}
	rotateKey   = &operation{"rotate/action", "rotate", true, (*call).rotateKey}
	getKey      = &operation{"read", "get", false, (*call).getKey}
	updateKey   = &operation{"update/action", "update", true, (*call).updateKey}
	deleteKey   = &operation{"delete", "delete", true, (*call).deleteKey}
	listKeys    = &operation{"read", "list", false, (*call).listKeys}
	listVersion = &operation{"read", "list", false, (*call).listVersions}
	listDeleted = &operation{"read", "list", false, (*call).listDeleted}
	getDeleted  = &operation{"read", "get", false, (*call).getDeleted}
	recoverKey  = &operation{"recover/action", "recover", true, (*call).recoverKey}
	purgeKey    = &operation{"purge/action", "purge", true, (*call).purgeKey}
	encryptOp   = &operation{"encrypt/action", "encrypt", false, (*call).encrypt}
	decryptOp   = &operation{"decrypt/action", "decrypt", false, (*call).decrypt}
	wrapOp      = &operation{"wrap/action", "wrapKey", false, (*call).wrap}
	unwrapOp    = &operation{"unwrap/action", "unwrapKey", false, (*call).unwrap}
)

// Secrets have actions of their own: to read what one holds is not to read that it is there.
var (
	setSecret          = &operation{"setSecret/action", "set", true, (*call).setSecret}
	getSecret          = &operation{"getSecret/action", "get", false, (*call).getSecret}
	updateSecret       = &operation{"update/action", "set", true, (*call).updateSecret}
	deleteSecret       = &operation{"delete", "delete", true, (*call).deleteSecret}
	listSecrets        = &operation{"readMetadata/action", "list", false, (*call).listSecrets}
	listSecretVersions = &operation{"readMetadata/action", "list", false, (*call).listSecretVersions}
	listDeletedSecrets = &operation{"readMetadata/action", "list", false, (*call).listDeletedSecrets}
	getDeletedSecret   = &operation{"readMetadata/action", "get", false, (*call).getDeletedSecret}
	recoverSecret      = &operation{"recover/action", "recover", true, (*call).recoverSecret}
	purgeSecret        = &operation{"purge/action", "purge", true, (*call).purgeSecret}
)

// route finds the operation, and the key or secret it is about. Names of actions are no versions: those are 32 hexadecimal digits.
func (c *call) route() (*operation, error) {
	if c.req.URL.Query().Get("api-version") == "" {
		return nil, failf(http.StatusBadRequest, "BadParameter", "api-version must be specified")
	}
	parts := strings.Split(strings.Trim(c.req.URL.Path, "/"), "/")
	shape := c.req.Method + " " + parts[0]
	for i, part := range parts[1:] {
		switch {
		case i == 0:
			c.name = part
			shape += "/NAME"
		case i == 1 && (isVersion(part) || len(parts) == 4):
			c.version = part
			shape += "/VERSION"
		default:
			shape += "/" + strings.ToLower(part)
		}
	}
	op := map[string]*operation{
		"GET keys": listKeys, "GET keys/NAME": getKey, "GET keys/NAME/VERSION": getKey, "GET keys/NAME/versions": listVersion,
		"POST keys/NAME/create": createKey, "POST keys/NAME/rotate": rotateKey, "DELETE keys/NAME": deleteKey,
		"PATCH keys/NAME": updateKey, "PATCH keys/NAME/VERSION": updateKey,
		"POST keys/NAME/VERSION/encrypt": encryptOp, "POST keys/NAME/VERSION/decrypt": decryptOp,
		"POST keys/NAME/VERSION/wrapkey": wrapOp, "POST keys/NAME/VERSION/unwrapkey": unwrapOp,
		"POST keys/NAME/encrypt": encryptOp, "POST keys/NAME/decrypt": decryptOp, "POST keys/NAME/wrapkey": wrapOp, "POST keys/NAME/unwrapkey": unwrapOp,
		"GET secrets": listSecrets, "GET secrets/NAME": getSecret, "GET secrets/NAME/VERSION": getSecret, "GET secrets/NAME/versions": listSecretVersions,
		"PUT secrets/NAME": setSecret, "DELETE secrets/NAME": deleteSecret, "PATCH secrets/NAME": updateSecret, "PATCH secrets/NAME/VERSION": updateSecret,
		"GET deletedsecrets": listDeletedSecrets, "GET deletedsecrets/NAME": getDeletedSecret, "POST deletedsecrets/NAME/recover": recoverSecret, "DELETE deletedsecrets/NAME": purgeSecret,
		"GET deletedkeys": listDeleted, "GET deletedkeys/NAME": getDeleted, "POST deletedkeys/NAME/recover": recoverKey, "DELETE deletedkeys/NAME": purgeKey,
	}[shape]
	c.kind = keyKind
	if strings.HasSuffix(strings.ToLower(parts[0]), "secrets") {
		c.kind = secretKind
	}
	if op == nil {
		return nil, failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("The key vault operation "+c.req.Method+" "+c.req.URL.Path))
	}
	return op, nil
}

func isVersion(text string) bool {
	const digits = 32
	return len(text) == digits && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}
