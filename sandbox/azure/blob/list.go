package blob

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"sort"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// mostListed is the size of the largest page, and of one whose size nobody chose.
const mostListed = 5000

// listing is the answer to both lists.
type listing struct {
	XMLName         xml.Name `xml:"EnumerationResults"`
	ServiceEndpoint string   `xml:",attr"`
	ContainerName   string   `xml:",attr,omitempty"`
	Prefix          string   `xml:",omitempty"`
	Marker          string   `xml:",omitempty"`
	MaxResults      int      `xml:",omitempty"`
	Delimiter       string   `xml:",omitempty"`
	Containers      *[]item  `xml:"Containers>Container"`
	Blobs           *entries `xml:"Blobs"`
	NextMarker      string
}

type entries struct {
	Blobs    []item  `xml:"Blob"`
	Prefixes []named `xml:"BlobPrefix"`
}

type named struct{ Name string }

type item struct {
	Name       string
	Properties itemProperties
	Metadata   *metadata
}

type itemProperties struct {
	LastModified  string `xml:"Last-Modified"`
	Etag          string
	ContentLength *int64 `xml:"Content-Length"`
	ContentType   string `xml:"Content-Type,omitempty"`
	ContentMD5    string `xml:"Content-MD5,omitempty"`
	CacheControl  string `xml:"Cache-Control,omitempty"`
	BlobType      string `xml:",omitempty"`
	PublicAccess  string `xml:",omitempty"`
	LeaseStatus   string
	LeaseState    string
}

// metadata is an element per name.
type metadata struct{ values Doc }

// MarshalXML writes the names in order.
func (m *metadata) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	names := make([]string, 0, len(m.values))
	for name := range m.values {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := e.EncodeElement(m.values[name], xml.StartElement{Name: xml.Name{Local: name}}); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// page reads what part of a list is asked for. A marker is the name that the part begins with.
func (c *call) page() (l listing, from string, err error) {
	q := c.req.URL.Query()
	l = listing{ServiceEndpoint: "https://" + c.req.Host + "/", ContainerName: c.container, Prefix: q.Get("prefix"), Marker: q.Get("marker"), Delimiter: q.Get("delimiter")}
	if text := q.Get("maxresults"); text != "" {
		if l.MaxResults, err = strconv.Atoi(text); err != nil || l.MaxResults < 1 {
			return l, "", fail(http.StatusBadRequest, "OutOfRangeQueryParameterValue", "The value for one of the query parameters specified in the request URI is outside the permissible range: maxresults.")
		}
	}
	name, err := base64.RawURLEncoding.DecodeString(l.Marker)
	if err != nil {
		return l, "", fail(http.StatusBadRequest, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid: marker.")
	}
	return l, string(name), nil
}

func (l *listing) size() int {
	if l.MaxResults > 0 {
		return min(l.MaxResults, mostListed)
	}
	return mostListed
}

func (l *listing) next(name string) {
	l.NextMarker = base64.RawURLEncoding.EncodeToString([]byte(name))
}

func (c *call) send(l listing) (*result, error) {
	body, err := xml.Marshal(l)
	if err != nil {
		return nil, err
	}
	c.w.Header().Set("Content-Type", "application/xml")
	return &result{status: http.StatusOK, body: append([]byte(xml.Header), body...)}, nil
}

func (c *call) listBlobs() (*result, error) {
	if _, err := c.findContainer(); err != nil {
		return nil, err
	}
	l, from, err := c.page()
	if err != nil {
		return nil, err
	}
	l.Blobs = &entries{}
	base := c.name + "/" + c.container + "/"
	recs := c.tx.Scan(store.Blobs, base+l.Prefix)
	sort.Slice(recs, func(i, j int) bool { return recs[i].Key < recs[j].Key })
	withMetadata := strings.Contains(c.req.URL.Query().Get("include"), "metadata")
	last := ""
	for _, r := range recs {
		name := strings.TrimPrefix(r.Key, base)
		folder, inside := l.folder(name)
		if name < from || inside && folder == last {
			continue
		}
		if len(l.Blobs.Blobs)+len(l.Blobs.Prefixes) == l.size() {
			l.next(name)
			break
		}
		if inside {
			l.Blobs.Prefixes, last = append(l.Blobs.Prefixes, named{folder}), folder
			continue
		}
		l.Blobs.Blobs = append(l.Blobs.Blobs, blobItem(name, r.Doc, withMetadata))
	}
	return c.send(l)
}

// folder is the name up to the first delimiter behind the prefix, where a hierarchy is asked for.
func (l *listing) folder(name string) (string, bool) {
	if l.Delimiter == "" {
		return "", false
	}
	at := strings.Index(name[len(l.Prefix):], l.Delimiter)
	if at < 0 {
		return "", false
	}
	return name[:len(l.Prefix)+at+len(l.Delimiter)], true
}

func blobItem(name string, d Doc, withMetadata bool) item {
	length := size(d)
	i := item{Name: name, Properties: itemProperties{LastModified: modified(d).UTC().Format(http.TimeFormat), Etag: strings.Trim(wire.Text(d, "etag"), `"`),
		ContentLength: &length, ContentType: wire.Text(d, "contentType"), ContentMD5: wire.Text(d, "md5"), CacheControl: wire.Text(d, "cacheControl"), BlobType: "BlockBlob",
		LeaseStatus: "unlocked", LeaseState: "available"}}
	if withMetadata {
		i.Metadata = &metadata{wire.Sub(d, "metadata")}
	}
	return i
}

func size(d Doc) int64 {
	switch n := d["size"].(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func (c *call) listContainers() (*result, error) {
	l, from, err := c.page()
	if err != nil {
		return nil, err
	}
	recs := c.tx.Scan(store.ARM, strings.ToLower(wire.Text(c.account, "id")+"/blobServices/default/containers/"+l.Prefix))
	sort.Slice(recs, func(i, j int) bool { return recs[i].Key < recs[j].Key })
	l.Containers = &[]item{}
	for _, r := range recs {
		name := wire.Text(r.Doc, "name")
		if r.Doc["type"] != storage.TypeContainer || name < from {
			continue
		}
		if len(*l.Containers) == l.size() {
			l.next(name)
			break
		}
		p := itemProperties{LastModified: modified(r.Doc).UTC().Format(http.TimeFormat), Etag: strings.Trim(wire.Text(r.Doc, "etag"), `"`), LeaseStatus: "unlocked", LeaseState: "available"}
		if level := strings.ToLower(wire.Text(wire.Props(r.Doc), "publicAccess")); level != "none" {
			p.PublicAccess = level
		}
		*l.Containers = append(*l.Containers, item{Name: name, Properties: p})
	}
	return c.send(l)
}
