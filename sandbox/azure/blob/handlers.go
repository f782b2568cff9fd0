package blob

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// handler of one operation. Action is the RBAC action after blobServices/.
type handler struct {
	action     string
	management bool // the action is one of the resource manager's, not of data
	write      bool
	public     bool   // the world may, where a container allows it
	upload     bool   // the body is content
	level      string // what a shared access signature must be for, "" for what none allows
	letters    string // permissions of such a signature, one of which suffices
	run        func(*call) (*result, error)
}

// Levels of operations, as shared access signatures of accounts name them.
const (
	levelService   = "s"
	levelContainer = "c"
	levelBlob      = "o"
)

var (
	createContainer = &handler{action: "containers/write", management: true, write: true, level: levelContainer, letters: "cw", run: (*call).createContainer}
	deleteContainer = &handler{action: "containers/delete", management: true, write: true, level: levelContainer, letters: "d", run: (*call).deleteContainer}
	getContainer    = &handler{action: "containers/read", management: true, public: true, level: levelContainer, letters: "r", run: (*call).getContainer}
	getContainerACL = &handler{action: "containers/getAcl/action", management: true, run: (*call).getContainer}
	setContainerACL = &handler{action: "containers/setAcl/action", management: true, write: true, run: (*call).setContainerACL}
	listContainers  = &handler{action: "containers/read", management: true, level: levelService, letters: "l", run: (*call).listContainers}
	listBlobs       = &handler{action: "containers/blobs/read", public: true, level: levelContainer, letters: "l", run: (*call).listBlobs}
	accountInfo     = &handler{action: "containers/read", management: true, level: levelService, letters: "rwdlac", run: (*call).accountInfo}
	putBlob         = &handler{action: "containers/blobs/write", write: true, upload: true, level: levelBlob, letters: "w", run: (*call).putBlob}
	putBlock        = &handler{action: "containers/blobs/write", write: true, upload: true, level: levelBlob, letters: "w", run: (*call).putBlock}
	putBlockList    = &handler{action: "containers/blobs/write", write: true, level: levelBlob, letters: "w", run: (*call).putBlockList}
	getBlob         = &handler{action: "containers/blobs/read", public: true, level: levelBlob, letters: "r", run: (*call).getBlob}
	deleteBlob      = &handler{action: "containers/blobs/delete", write: true, level: levelBlob, letters: "d", run: (*call).deleteBlob}
)

func (c *call) route() (*handler, error) {
	q := c.req.URL.Query()
	comp, method := q.Get("comp"), c.req.Method
	h := c.handlerOf(q, method, comp)
	if h == nil {
		return nil, fail(wire.NotServedStatus, wire.NotServedCode, wire.NotServed(fmt.Sprintf("The blob operation %s %s?restype=%s&comp=%s", method, c.req.URL.Path, q.Get("restype"), comp)))
	}
	return h, nil
}

// handlerOf is who answers; nil where nobody does.
func (c *call) handlerOf(q url.Values, method, comp string) *handler {
	read := method == http.MethodGet || method == http.MethodHead
	switch {
	case comp == "properties" && q.Get("restype") == "account":
		return accountInfo
	case comp == "userdelegationkey" && q.Get("restype") == "service" && method == http.MethodPost:
		return delegateKey
	case comp == "properties" && q.Get("restype") == "service":
		return map[string]*handler{http.MethodGet: getService, http.MethodPut: setService}[method]
	case c.container == "" && comp == "list" && read:
		return listContainers
	case q.Get("restype") == "container":
		return map[string]*handler{"PUT ": createContainer, "DELETE ": deleteContainer, "GET ": getContainer, "HEAD ": getContainer, "GET acl": getContainerACL,
			"HEAD acl": getContainerACL, "PUT acl": setContainerACL, "GET list": listBlobs}[method+" "+comp]
	case c.blob != "" && !c.elsewhere():
		return map[string]*handler{"PUT ": putBlob, "PUT block": putBlock, "PUT blocklist": putBlockList, "GET ": getBlob, "HEAD ": getBlob, "DELETE ": deleteBlob}[method+" "+comp]
	}
	return nil
}

// elsewhere tells whether a request is about something other than a blob as it is: a version of it, or a copy of another one.
func (c *call) elsewhere() bool {
	q := c.req.URL.Query()
	return q.Has("snapshot") || q.Has("versionid") || c.req.Header.Get("x-ms-copy-source") != ""
}

// maxDocument bounds bodies that are not content: a list of 50,000 blocks fits.
const maxDocument = 8 << 20

// receive takes the body before the transaction, so that a slow client holds nobody up.
func (c *call) receive(h *handler) error {
	if h.upload {
		s, err := c.content.write(c.req.Body)
		c.received = &s
		return err
	}
	var err error
	if c.document, err = io.ReadAll(io.LimitReader(c.req.Body, maxDocument)); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	return nil
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

func newETag() string { return fmt.Sprintf(`"0x%X"`, time.Now().UnixNano()) }

func (c *call) stamp(d Doc) {
	h := c.w.Header()
	h.Set("ETag", wire.Text(d, "etag"))
	h.Set("Last-Modified", modified(d).UTC().Format(http.TimeFormat))
}

// accessLevel translates the header's "container" to the resource manager's "Container".
func (c *call) accessLevel() (string, error) {
	level := c.req.Header.Get("x-ms-blob-public-access")
	if level == "" {
		return "None", nil
	}
	if wire.Props(c.account)["allowBlobPublicAccess"] != true {
		return "", fail(http.StatusConflict, "PublicAccessNotPermitted", "Public access is not permitted on this storage account.")
	}
	return strings.ToUpper(level[:1]) + strings.ToLower(level[1:]), nil
}

func (c *call) createContainer() (*result, error) {
	if !storage.ValidContainer(c.container) {
		return nil, fail(http.StatusBadRequest, "InvalidResourceName", "The specified resource name contains invalid characters, or is not of 3 to 63 characters.")
	}
	if _, err := c.findContainer(); err == nil {
		return nil, fail(http.StatusConflict, "ContainerAlreadyExists", "The specified container already exists.")
	}
	level, err := c.accessLevel()
	if err != nil {
		return nil, err
	}
	d := c.newContainer(level)
	c.tx.Put(store.ARM, c.containerKey(), d)
	c.stamp(d)
	return &result{status: http.StatusCreated}, nil
}

func (c *call) deleteContainer() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	c.tx.Delete(store.ARM, c.containerKey())
	for _, prefix := range []string{"", "?"} { // blobs, and blocks of none
		for _, b := range c.tx.Scan(store.Blobs, prefix+c.name+"/"+c.container+"/") {
			c.tx.Delete(store.Blobs, b.Key)
		}
	}
	return &result{status: http.StatusAccepted}, nil
}

func (c *call) getContainer() (*result, error) {
	d, err := c.findContainer()
	if err != nil {
		return nil, err
	}
	c.stamp(d)
	if level := strings.ToLower(wire.Text(wire.Props(d), "publicAccess")); level != "none" {
		c.w.Header().Set("x-ms-blob-public-access", level)
	}
	out := &result{status: http.StatusOK}
	if c.req.URL.Query().Get("comp") == "acl" {
		c.w.Header().Set("Content-Type", "application/xml")
		out.body = []byte(`<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers/>`)
	}
	return out, nil
}

func (c *call) setContainerACL() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	level, err := c.accessLevel()
	if err != nil {
		return nil, err
	}
	if bytes.Contains(c.document, []byte("<SignedIdentifier>")) {
		return nil, fail(wire.NotServedStatus, wire.NotServedCode, wire.NotServed("A stored access policy"))
	}
	d := c.tx.Edit(store.ARM, c.containerKey())
	wire.EnsureProps(d)["publicAccess"] = level
	d["etag"], d["modified"] = newETag(), now()
	c.stamp(d)
	return &result{status: http.StatusOK}, nil
}

func (c *call) accountInfo() (*result, error) {
	c.w.Header().Set("x-ms-account-kind", "StorageV2")
	c.w.Header().Set("x-ms-sku-name", "Standard_LRS")
	return &result{status: http.StatusOK}, nil
}

func (c *call) putBlob() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	switch kind := c.req.Header.Get("x-ms-blob-type"); {
	case kind == "":
		return nil, fail(http.StatusBadRequest, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified: x-ms-blob-type.")
	case kind != "BlockBlob":
		return nil, fail(wire.NotServedStatus, wire.NotServedCode, wire.NotServed("A blob of the type '"+kind+"'"))
	}
	if err := c.undamaged(); err != nil {
		return nil, err
	}
	return c.saveBlob(*c.received)
}

// undamaged compares what has come with the hash that the client sent along.
func (c *call) undamaged() error {
	if sent := c.req.Header.Get("Content-MD5"); sent != "" && sent != c.received.md5 {
		return fail(http.StatusBadRequest, "Md5Mismatch", "The MD5 value specified in the request did not match with the MD5 value calculated by the server.")
	}
	return nil
}

// conditions of a write: https://learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations.
func (c *call) conditions(old Doc) error {
	h, etag := c.req.Header, wire.Text(old, "etag")
	none, match := h.Get("If-None-Match"), h.Get("If-Match")
	since, sinceErr := http.ParseTime(h.Get("If-Unmodified-Since"))
	changed, changedErr := http.ParseTime(h.Get("If-Modified-Since"))
	at := modified(old).Truncate(time.Second)
	switch {
	case none == "*" && old != nil && c.req.Method == http.MethodPut:
		return fail(http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists.")
	case match != "" && (old == nil || match != "*" && match != etag),
		old != nil && (none == "*" || none == etag && none != ""),
		old != nil && sinceErr == nil && at.After(since),
		old != nil && changedErr == nil && !at.After(changed):
		return fail(http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
	}
	return nil
}

// blobProperties are the headers of an answer that the writer of a blob chooses, by the member that keeps them.
var blobProperties = map[string]string{"cacheControl": "Cache-Control", "contentEncoding": "Content-Encoding", "contentLanguage": "Content-Language",
	"contentDisposition": "Content-Disposition"}

func (c *call) saveBlob(up stored) (*result, error) {
	if err := c.conditions(c.tx.Get(store.Blobs, c.blobKey())); err != nil {
		return nil, err
	}
	h := c.req.Header
	kind := h.Get("x-ms-blob-content-type")
	if kind == "" {
		kind = h.Get("Content-Type")
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	meta := Doc{}
	for k, v := range h {
		if name, ok := strings.CutPrefix(strings.ToLower(k), "x-ms-meta-"); ok {
			meta[name] = strings.Join(v, ",")
		}
	}
	d := Doc{"content": up.hash, "size": up.size, "md5": up.md5, "contentType": kind, "metadata": meta, "etag": newETag(), "modified": now()}
	for member, header := range blobProperties {
		d[member] = h.Get("x-ms-blob-" + strings.ToLower(header))
	}
	c.tx.Put(store.Blobs, c.blobKey(), d)
	c.stamp(d)
	c.w.Header().Set("Content-MD5", up.md5)
	c.w.Header().Set("x-ms-request-server-encrypted", "true")
	return &result{status: http.StatusCreated}, nil
}

// blockKey cannot clash with a blob: no account has a leading question mark.
func (c *call) blockKey(id string) string { return "?" + c.blobKey() + "?" + id }

// longestBlockID is how many bytes the name of a block has at most, before it is encoded.
const longestBlockID = 64

func (c *call) putBlock() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	id := c.req.URL.Query().Get("blockid")
	decoded, err := base64.StdEncoding.DecodeString(id)
	switch {
	case id == "":
		return nil, fail(http.StatusBadRequest, "MissingRequiredQueryParameter",
			"A query parameter that's mandatory for this request is not specified: blockid.")
	case err != nil || len(decoded) > longestBlockID:
		return nil, fail(http.StatusBadRequest, "InvalidQueryParameterValue",
			"Value for one of the query parameters specified in the request URI is invalid: blockid.")
	}
	if err := c.undamaged(); err != nil {
		return nil, err
	}
	c.tx.Put(store.Blobs, c.blockKey(id), Doc{"content": c.received.hash})
	c.w.Header().Set("Content-MD5", c.received.md5)
	return &result{status: http.StatusCreated}, nil
}

func (c *call) putBlockList() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	var list struct {
		Blocks []struct {
			ID string `xml:",chardata"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(c.document, &list); err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.")
	}
	var hashes []string
	for _, b := range list.Blocks {
		d := c.tx.Get(store.Blobs, c.blockKey(strings.TrimSpace(b.ID)))
		if d == nil {
			return nil, fail(http.StatusBadRequest, "InvalidBlockList", "The specified block list is invalid.")
		}
		hashes = append(hashes, wire.Text(d, "content"))
	}
	up, err := c.content.concat(hashes)
	if err != nil {
		return nil, err
	}
	for _, r := range c.tx.Scan(store.Blobs, c.blockKey("")) {
		c.tx.Delete(store.Blobs, r.Key)
	}
	return c.saveBlob(up)
}

func (c *call) getBlob() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	d := c.tx.Get(store.Blobs, c.blobKey())
	if d == nil {
		return nil, fail(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.")
	}
	return &result{status: http.StatusOK, blob: d}, nil
}

func (c *call) deleteBlob() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	old := c.tx.Get(store.Blobs, c.blobKey())
	if old == nil {
		return nil, fail(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.")
	}
	if err := c.conditions(old); err != nil {
		return nil, err
	}
	c.tx.Delete(store.Blobs, c.blobKey())
	return &result{status: http.StatusAccepted}, nil
}
