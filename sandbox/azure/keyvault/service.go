// Package keyvault is the data plane of key vaults: RSA keys with real cryptography, and secrets. Vaults are the resource manager's
// documents; what they hold is in the store.
package keyvault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Suffix of the host names of vaults.
const Suffix = ".vault.azure.net"

// Resource is what tokens are for.
const Resource = "https://vault.azure.net"

const (
	typeVault = "Microsoft.KeyVault/vaults"
	// maxBody bounds a request: a key and a few attributes fit many times.
	maxBody = 1 << 20
)

// Doc is a JSON object.
type Doc = store.Doc

// Service is the http.Handler of *.vault.azure.net.
type Service struct {
	store    *store.Store
	identity *entra.Service
	tenant   string
}

// New makes the service.
func New(tenant string, s *store.Store, identity *entra.Service) *Service {
	return &Service{store: s, identity: identity, tenant: tenant}
}

// Error is an error of the key vault service. Inner is the code that tells kinds of "Forbidden" apart.
type Error struct {
	Status               int
	Code, Message, Inner string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func failf(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func forbidden(inner, format string, args ...any) *Error {
	return &Error{http.StatusForbidden, "Forbidden", fmt.Sprintf(format, args...), inner}
}

// kind is what a vault holds.
type kind struct {
	table  store.Table
	plural string // in paths, in the actions of roles and in access policies
	noun   string // in sentences
}

var (
	keyKind    = kind{store.VaultKeys, "keys", "Key"}
	secretKind = kind{store.VaultSecrets, "secrets", "Secret"}
)

// call is one request to a vault.
type call struct {
	*Service
	tx        *store.Tx
	w         http.ResponseWriter
	req       *http.Request
	vault     Doc
	vaultName string // lower-cased
	kind      kind
	name      string // of the key or secret
	version   string
	body      Doc
}

// reply is sent after the commit.
type reply struct {
	status int
	body   any
}

func ok(body any) *reply { return &reply{http.StatusOK, body} }

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-ms-request-id", uuid.NewString())
	w.Header().Set("x-ms-keyvault-service-version", "1.9.2500.1")
	vault, _, _ := strings.Cut(strings.ToLower(r.Host), ".")
	c := &call{Service: s, w: w, req: r, vaultName: vault}
	out, err := c.handle()
	if err != nil {
		writeError(w, err)
		return
	}
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	wire.JSON(w, out.status, out.body)
}

func (c *call) handle() (*reply, error) {
	raw, err := c.token()
	if err != nil {
		return nil, err
	}
	op, err := c.route()
	if err != nil {
		return nil, err
	}
	// The body before the transaction, so that a slow client holds nobody up.
	content, err := io.ReadAll(io.LimitReader(c.req.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	c.body = Doc{}
	if len(content) > 0 && json.Unmarshal(content, &c.body) != nil {
		return nil, failf(http.StatusBadRequest, "BadParameter", "The request body is not a JSON object.")
	}
	var out *reply
	run := func(tx *store.Tx) error {
		c.tx = tx
		if c.vault = c.findVault(); c.vault == nil {
			return failf(http.StatusNotFound, "VaultNotFound", "There is no vault '%s'.", c.vaultName)
		}
		if err := c.authorize(op, raw); err != nil {
			return err
		}
		var err error
		out, err = op.run(c)
		return err
	}
	if op.write {
		err = c.store.Update(run)
		return out, err
	}
	c.store.View(func(tx *store.Tx) { err = run(tx) })
	return out, err
}

func (c *call) findVault() Doc {
	var vault Doc
	c.tx.Each(store.ARM, func(_ string, d Doc) bool {
		if d["type"] == typeVault && strings.EqualFold(wire.Text(d, "name"), c.vaultName) {
			vault = d
		}
		return vault == nil
	})
	return vault
}

func writeError(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = failf(http.StatusInternalServerError, "InternalServerError", "%v", err)
	}
	body := Doc{"code": e.Code, "message": e.Message}
	if e.Inner != "" {
		body["innererror"] = Doc{"code": e.Inner}
	}
	wire.JSON(w, e.Status, Doc{"error": body})
}
