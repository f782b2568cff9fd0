// Package blob is the data plane of storage accounts. Accounts and containers are the resource manager's documents; the properties of blobs
// are in the store, their content is in files named by hash.
package blob

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Suffixes of the host names of accounts, and of their static websites.
const (
	Suffix    = ".blob.core.windows.net"
	WebSuffix = ".z13.web.core.windows.net"
)

// Doc is a JSON object.
type Doc = store.Doc

// Service is the http.Handler of *.blob.core.windows.net.
type Service struct {
	store    *store.Store
	identity *entra.Service
	tenant   string
	content  content
}

// New makes the service; contents are kept in the folder.
func New(dir, tenant string, s *store.Store, identity *entra.Service) (*Service, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the blobs: %w", err)
	}
	return &Service{store: s, identity: identity, tenant: tenant, content: content{dir}}, nil
}

// Error is an error of the storage service.
type Error struct {
	Status        int
	Code, Message string
	Detail        string // why the caller is not proven
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func fail(status int, code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

// call is one request to an account.
type call struct {
	*Service
	tx        *store.Tx
	w         http.ResponseWriter
	req       *http.Request
	account   Doc
	name      string // of the account
	caller    string // object id of who shows a token
	container string
	blob      string
	received  *stored // content of an upload
	document  []byte  // any other body
}

// result is sent after the commit.
type result struct {
	status int
	body   []byte
	blob   Doc // its content is the body
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-ms-version", "2025-01-05")
	w.Header().Set("x-ms-request-id", uuid.NewString())
	if id := r.Header.Get("x-ms-client-request-id"); id != "" {
		w.Header().Set("x-ms-client-request-id", id)
	}
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ".")
	container, blob, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	c := &call{Service: s, w: w, req: r, name: name, container: container, blob: blob}
	out, err := c.handle()
	if err != nil {
		writeError(w, err)
		return
	}
	if out.blob != nil {
		s.serveContent(w, r, out.blob)
		return
	}
	w.WriteHeader(out.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out.body)
	}
}

// Elsewhere is the http.Handler of the other services of storage accounts.
func Elsewhere(service string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-ms-request-id", uuid.NewString())
		writeError(w, fail(wire.NotServedStatus, wire.NotServedCode, wire.NotServed("The "+service+" service of storage accounts")))
	})
}

func (c *call) handle() (*result, error) {
	h, err := c.route()
	if err != nil {
		return nil, err
	}
	if err := c.receive(h); err != nil {
		return nil, err
	}
	var out *result
	run := func(tx *store.Tx) error {
		c.tx = tx
		account := c.findAccount()
		if account == nil {
			return fail(http.StatusNotFound, "ResourceNotFound", "The specified account does not exist.")
		}
		c.account = account
		if err := c.authorize(h); err != nil {
			return err
		}
		var err error
		out, err = h.run(c)
		return err
	}
	if h.write {
		err = c.store.Update(run)
		return out, err
	}
	c.store.View(func(tx *store.Tx) { err = run(tx) })
	return out, err
}

func (c *call) findAccount() Doc {
	var account Doc
	c.tx.Each(store.ARM, func(_ string, d Doc) bool {
		if d["type"] == storage.TypeAccount && d["name"] == c.name {
			account = d
		}
		return account == nil
	})
	return account
}

func (c *call) containerKey() string {
	return strings.ToLower(wire.Text(c.account, "id") + "/blobServices/default/containers/" + c.container)
}

func (c *call) findContainer() (Doc, error) {
	d := c.tx.Get(store.ARM, c.containerKey())
	if d == nil {
		return nil, fail(http.StatusNotFound, "ContainerNotFound", "The specified container does not exist.")
	}
	return d, nil
}

func (c *call) blobKey() string { return c.name + "/" + c.container + "/" + c.blob }

func writeError(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = fail(http.StatusInternalServerError, "InternalError", err.Error())
	}
	w.Header().Set("x-ms-error-code", e.Code)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(e.Status)
	detail := ""
	if e.Detail != "" {
		detail = "<AuthenticationErrorDetail>" + escape(e.Detail) + "</AuthenticationErrorDetail>"
	}
	fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>%s</Message>%s</Error>`, e.Code, escape(e.Message), detail)
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
