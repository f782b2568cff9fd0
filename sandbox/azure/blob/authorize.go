package blob

import (
	"cmp"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const actionPrefix = "Microsoft.Storage/storageAccounts/blobServices/"

func (c *call) authorize(h *handler) error {
	header := c.req.Header.Get("Authorization")
	switch {
	case header == "" && c.req.URL.Query().Has("sig"):
		return c.signature(h)
	case header == "":
		if !h.public {
			return c.noAuthentication()
		}
		return c.anonymous(c.blob != "")
	case strings.HasPrefix(header, "SharedKey ") && h != delegateKey:
		return c.sharedKey(header)
	}
	raw, ok := wire.Bearer(c.req)
	if !ok {
		return fail(http.StatusBadRequest, "InvalidAuthenticationInfo", "Authentication information is not given in the correct format. Check the value of Authorization header.")
	}
	return c.bearer(h, raw)
}

func (c *call) noAuthentication() error {
	c.challenge()
	return fail(http.StatusUnauthorized, "NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")
}

func (c *call) challenge() {
	if c.w != nil {
		c.w.Header().Set("WWW-Authenticate", "Bearer authorization_uri=https://login.microsoftonline.com/"+c.tenant+"/oauth2/authorize resource_id=https://storage.azure.com")
	}
}

// anonymous lets the world read what a container makes public; a container that is not there looks like one that is private.
func (c *call) anonymous(blob bool) error {
	if wire.Props(c.account)["allowBlobPublicAccess"] != true {
		return fail(http.StatusConflict, "PublicAccessNotPermitted", "Public access is not permitted on this storage account.")
	}
	d, err := c.findContainer()
	if err != nil {
		return fail(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist.")
	}
	switch level := wire.Text(wire.Props(d), "publicAccess"); {
	case strings.EqualFold(level, "Container"), strings.EqualFold(level, "Blob") && blob:
		return nil
	}
	return fail(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist.")
}

func (c *call) bearer(h *handler, raw string) error {
	caller, err := c.identity.Verify(raw, append([]string{"https://" + c.name + Suffix}, entra.StorageAudiences...), nil)
	if err != nil {
		var refused *entra.TokenError
		if errors.As(err, &refused) {
			c.challenge()
			return fail(http.StatusUnauthorized, "InvalidAuthenticationInfo", "Server failed to authenticate the request: "+refused.Message)
		}
		return err
	}
	access.SetPrincipal(c.req.Context(), caller.ClientID)
	c.caller = caller.ObjectID
	plane := roles.Data
	if h.management {
		plane = roles.Management
	}
	if !c.allowed(plane, caller.ObjectID, actionPrefix+h.action, c.scope()) {
		return mismatch("permission")
	}
	return nil
}

// allowed leaves out role assignments that have not spread, where an injected fault delays them.
func (c *call) allowed(plane roles.Plane, principal, action, scope string) bool {
	if !roles.Allowed(c.tx, plane, principal, action, scope) {
		return false
	}
	delay := fault.Propagation(c.req.Context(), fault.Role)
	if delay.None() || roles.Allowed(c.tx, plane, principal, action, scope, delay.Hides) {
		return true
	}
	fault.Hit(c.req.Context(), fault.Role)
	return false
}

func noKeys() *Error {
	return fail(http.StatusForbidden, "KeyBasedAuthenticationNotPermitted", "Key based authentication is not permitted on this storage account.")
}

// sharedKeySkew is how far the time of a signed request may be from the service's.
const sharedKeySkew = 15 * time.Minute

func (c *call) sharedKey(header string) error {
	if wire.Props(c.account)["allowSharedKeyAccess"] == false {
		return noKeys()
	}
	date := cmp.Or(c.req.Header.Get("x-ms-date"), c.req.Header.Get("Date"))
	if at, err := http.ParseTime(date); err != nil || time.Since(at).Abs() > sharedKeySkew {
		return forged("Request date header too old: '%s'", date)
	}
	text := stringToSign(c.req, c.name)
	for _, key := range c.accountKeys() {
		if want := "SharedKey " + c.name + ":" + sign(key, text); hmac.Equal([]byte(want), []byte(header)) {
			access.SetPrincipal(c.req.Context(), "key:"+c.name)
			return nil
		}
	}
	return forged("The MAC signature found in the HTTP request is not the same as any computed signature. Server used following string to sign: '%s'.", text)
}

func (c *call) accountKeys() [][]byte {
	keys := c.tx.Get(store.StorageKeys, strings.ToLower(wire.Text(c.account, "id")))
	var out [][]byte
	for _, name := range []string{"key1", "key2"} {
		if key, err := base64.StdEncoding.DecodeString(wire.Text(keys, name)); err == nil && len(key) > 0 {
			out = append(out, key)
		}
	}
	return out
}

// stringToSign is the Shared Key form of the blob service, version 2015-02-21 and later.
func stringToSign(r *http.Request, account string) string {
	h := r.Header
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	date := h.Get("Date")
	if h.Get("x-ms-date") != "" {
		date = ""
	}
	lines := []string{r.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), length, h.Get("Content-MD5"), h.Get("Content-Type"), date,
		h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range")}
	var own []string
	for k, v := range h {
		if name := strings.ToLower(k); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+strings.Join(v, ","))
		}
	}
	sort.Strings(own)
	resource := "/" + account + r.URL.EscapedPath()
	query := r.URL.Query()
	var params []string
	for k, v := range query {
		sort.Strings(v)
		params = append(params, strings.ToLower(k)+":"+strings.Join(v, ","))
	}
	sort.Strings(params)
	return strings.Join(append(append(lines, own...), append([]string{resource}, params...)...), "\n")
}
