package blob

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// webContainer holds the files of an account's static website: anybody reads them at the website's address, whatever the account says of
// public blobs.
const webContainer = "$web"

// serviceProperties are what the blob service of an account can be told. Only the website has an effect.
type serviceProperties struct {
	XMLName       xml.Name       `xml:"StorageServiceProperties"`
	StaticWebsite *staticWebsite `xml:"StaticWebsite"`
}

type staticWebsite struct {
	Enabled       bool
	IndexDocument string `xml:",omitempty"`
	ErrorDocument string `xml:"ErrorDocument404Path,omitempty"`
}

var (
	getService = &handler{action: "read", management: true, level: levelService, letters: "r", run: (*call).getServiceProperties}
	setService = &handler{action: "write", management: true, write: true, level: levelService, letters: "w", run: (*call).setServiceProperties}
)

// websiteKey cannot clash with a blob: no account has a leading question mark.
func (c *call) websiteKey() string { return "?" + c.name + "?website" }

func (c *call) getServiceProperties() (*result, error) {
	d := c.tx.Get(store.Blobs, c.websiteKey())
	p := serviceProperties{StaticWebsite: &staticWebsite{Enabled: d["enabled"] == true, IndexDocument: wire.Text(d, "index"), ErrorDocument: wire.Text(d, "error")}}
	body, err := xml.Marshal(p)
	if err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Type", "application/xml")
	return &result{status: http.StatusOK, body: append([]byte(xml.Header), body...)}, nil
}

func (c *call) setServiceProperties() (*result, error) {
	var p serviceProperties
	if err := xml.Unmarshal(c.document, &p); err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.")
	}
	if w := p.StaticWebsite; w != nil {
		c.tx.Put(store.Blobs, c.websiteKey(), Doc{"enabled": w.Enabled, "index": w.IndexDocument, "error": w.ErrorDocument})
		c.container = webContainer
		if _, err := c.findContainer(); err != nil && w.Enabled {
			c.tx.Put(store.ARM, c.containerKey(), c.newContainer("None"))
		}
	}
	return &result{status: http.StatusAccepted}, nil
}

// Website is the http.Handler of *.z13.web.core.windows.net.
func (s *Service) Website() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-ms-request-id", uuid.NewString())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writeError(w, fail(http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb."))
			return
		}
		name, _, _ := strings.Cut(strings.ToLower(r.Host), ".")
		c := &call{Service: s, w: w, req: r, name: name, container: webContainer}
		var found Doc
		s.store.View(func(tx *store.Tx) {
			c.tx = tx
			found = c.file(strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/"))
		})
		if found == nil {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, "<!DOCTYPE html><html><head><title>WebContentNotFound</title></head><body><h1>The requested content does not exist.</h1></body></html>")
			return
		}
		s.serveContent(w, r, found)
	})
}

// file is the one behind a path of the website: the index document for a folder, nil for what is not there.
func (c *call) file(name string) Doc {
	site := c.tx.Get(store.Blobs, c.websiteKey())
	if c.account = c.findAccount(); c.account == nil || site["enabled"] != true {
		return nil
	}
	if c.blob = name; name == "" || strings.HasSuffix(c.req.URL.Path, "/") {
		c.blob = strings.TrimPrefix(name+"/"+wire.Text(site, "index"), "/")
	}
	return c.tx.Get(store.Blobs, c.blobKey())
}

func (c *call) newContainer(level string) Doc {
	return Doc{"id": wire.Text(c.account, "id") + "/blobServices/default/containers/" + c.container, "name": c.container, "type": storage.TypeContainer,
		"etag": newETag(), "modified": now(), "properties": Doc{"publicAccess": level, "leaseState": "Available", "leaseStatus": "Unlocked", "lastModifiedTime": now()}}
}
