package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"sort"
	"strconv"
	"strings"

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
	case header == "":
		if !h.public {
			return c.noAuthentication()
		}
		return c.anonymous(c.blob != "")
	case strings.HasPrefix(header, "SharedKey "):
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
	scope := wire.Text(c.account, "id")
	if c.container != "" {
		scope += "/blobServices/default/containers/" + c.container
	}
	plane := roles.Data
	if strings.Count(h.action, "/") == 0 || strings.HasPrefix(h.action, "containers/") && strings.Count(h.action, "/") == 1 {
		plane = roles.Management
	}
	if !c.allowed(plane, caller.ObjectID, actionPrefix+h.action, scope) {
		return fail(http.StatusForbidden, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.")
	}
	return nil
}

// allowed leaves out role assignments that have not spread, where an injected fault delays them.
func (c *call) allowed(plane roles.Plane, principal, action, scope string) bool {
	if !roles.Allowed(c.tx, plane, principal, action, scope) {
		return false
	}
	delay := fault.Propagation(c.req.Context(), fault.Role)
	if delay.Time == 0 || roles.Allowed(c.tx, plane, principal, action, scope, delay.Hides) {
		return true
	}
	fault.Hit(c.req.Context(), fault.Role)
	return false
}

func (c *call) sharedKey(header string) error {
	if wire.Props(c.account)["allowSharedKeyAccess"] == false {
		return fail(http.StatusForbidden, "KeyBasedAuthenticationNotPermitted", "Key based authentication is not permitted on this storage account.")
	}
	keys := c.tx.Get(store.StorageKeys, strings.ToLower(wire.Text(c.account, "id")))
	text := stringToSign(c.req, c.name)
	for _, name := range []string{"key1", "key2"} {
		key, err := base64.StdEncoding.DecodeString(wire.Text(keys, name))
		if err != nil || len(key) == 0 {
			continue
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		want := "SharedKey " + c.name + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		if hmac.Equal([]byte(want), []byte(header)) {
			access.SetPrincipal(c.req.Context(), "key:"+c.name)
			return nil
		}
	}
	return fail(http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.")
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
