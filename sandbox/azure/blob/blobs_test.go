package blob

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// answered is an answer of the service.
type answered struct {
	status int
	code   string // of a refusal
	header http.Header
	text   string
}

// send asks with a key of the account. What is in the path behind a question mark is the query; headers alternate names and values.
func send(t *testing.T, s *Service, method, path, body string, headers ...string) answered {
	t.Helper()
	r := httptest.NewRequest(method, "https://acct"+Suffix+path, strings.NewReader(body))
	r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	key, err := base64.StdEncoding.DecodeString(accountKey)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "SharedKey acct:"+sign(key, stringToSign(r, "acct")))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return answered{w.Code, w.Header().Get("x-ms-error-code"), w.Header(), w.Body.String()}
}

// upload writes a block blob; more are headers.
func upload(t *testing.T, s *Service, path, body string, more ...string) answered {
	t.Helper()
	return send(t, s, http.MethodPut, path, body, append([]string{"x-ms-blob-type", "BlockBlob"}, more...)...)
}

func wants(t *testing.T, what string, got answered, status int, code string) {
	t.Helper()
	if got.status != status || got.code != code {
		t.Errorf("%s: %d %s %s, want %d %s", what, got.status, got.code, got.text, status, code)
	}
}

// What a blob is written with is what it is read with: https://learn.microsoft.com/rest/api/storageservices/put-blob.
func TestPropertiesOfABlob(t *testing.T) {
	s := account(t, false, "None")
	put := upload(t, s, "/con/dir/one", "hello", "x-ms-blob-content-type", "text/css", "Content-Type", "text/plain", "x-ms-blob-cache-control", "no-store",
		"x-ms-blob-content-encoding", "br", "x-ms-blob-content-language", "de", "x-ms-blob-content-disposition", "inline", "x-ms-meta-Owner", "me")
	sum := md5.Sum([]byte("hello"))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	wants(t, "put", put, http.StatusCreated, "")
	if put.header.Get("ETag") == "" || put.header.Get("Last-Modified") == "" || put.header.Get("Content-MD5") != hash {
		t.Errorf("the answer to a write: %v", put.header)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		got := send(t, s, method, "/con/dir/one", "")
		wants(t, method, got, http.StatusOK, "")
		for name, value := range map[string]string{"Content-Type": "text/css", "Cache-Control": "no-store", "Content-Encoding": "br",
			"Content-Language": "de", "Content-Disposition": "inline",
			"X-Ms-Meta-Owner": "me", "Content-MD5": hash, "ETag": put.header.Get("ETag"), "X-Ms-Blob-Type": "BlockBlob", "Content-Length": "5"} {
			if got.header.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", method, name, got.header.Get(name), value)
			}
		}
		if text := map[string]string{http.MethodGet: "hello"}[method]; got.text != text {
			t.Errorf("%s answers %q", method, got.text)
		}
	}
	upload(t, s, "/con/dir/one", "again")
	if got := send(t, s, http.MethodGet, "/con/dir/one", ""); got.header.Get("Cache-Control") != "" || got.header.Get("X-Ms-Meta-Owner") != "" ||
		got.header.Get("Content-Type") != "application/octet-stream" ||
		got.header.Get("ETag") == put.header.Get("ETag") {
		t.Errorf("a new blob of the name has kept something of the old one: %v", got.header)
	}
}

func TestBlobsThatAzureRefuses(t *testing.T) {
	s := account(t, false, "None")
	upload(t, s, "/con/one", "hello")
	wants(t, "no type", send(t, s, http.MethodPut, "/con/x", "hello"), 400, "MissingRequiredHeader")
	wants(t, "a page blob", send(t, s, http.MethodPut, "/con/x", "", "x-ms-blob-type", "PageBlob"), 501, "NotServedBySandbox")
	wants(t, "a copy", send(t, s, http.MethodPut, "/con/x", "", "x-ms-copy-source", "https://acct"+Suffix+"/con/one"), 501, "NotServedBySandbox")
	wants(t, "a lease", send(t, s, http.MethodPut, "/con/one?comp=lease", "", "x-ms-lease-action", "acquire"), 501, "NotServedBySandbox")
	wants(t, "a snapshot", send(t, s, http.MethodGet, "/con/one?snapshot=2024-01-01T00:00:00.0000000Z", ""), 501, "NotServedBySandbox")
	wants(t, "damaged on the way", upload(t, s, "/con/x", "hello", "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="), 400, "Md5Mismatch")
	wants(t, "another container", upload(t, s, "/none/x", "hello"), 404, "ContainerNotFound")
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodDelete} {
		wants(t, method+" of what is not there", send(t, s, method, "/con/x", ""), 404, "BlobNotFound")
		wants(t, method+" in a container that is not there", send(t, s, method, "/none/x", ""), 404, "ContainerNotFound")
	}
	wants(t, "case counts", send(t, s, http.MethodGet, "/con/One", ""), 404, "BlobNotFound")
	wants(t, "deletion", send(t, s, http.MethodDelete, "/con/one", ""), 202, "")
	wants(t, "deletion again", send(t, s, http.MethodDelete, "/con/one", ""), 404, "BlobNotFound")
}

// Two writers of one blob: https://learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations.
func TestConditionsOfBlobs(t *testing.T) {
	past, future := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, c := range map[string]struct {
		method, header, value string // ETAG is the current one
		there                 bool
		status                int
		code                  string
	}{
		"create what is not there":            {http.MethodPut, "If-None-Match", "*", false, 201, ""},
		"create what is there":                {http.MethodPut, "If-None-Match", "*", true, 409, "BlobAlreadyExists"},
		"write what one knows":                {http.MethodPut, "If-Match", "ETAG", true, 201, ""},
		"write what has changed":              {http.MethodPut, "If-Match", `"0x1"`, true, 412, "ConditionNotMet"},
		"write what is gone":                  {http.MethodPut, "If-Match", "*", false, 412, "ConditionNotMet"},
		"write anything that is there":        {http.MethodPut, "If-Match", "*", true, 201, ""},
		"write unless it is this one":         {http.MethodPut, "If-None-Match", "ETAG", true, 412, "ConditionNotMet"},
		"write unless it is another":          {http.MethodPut, "If-None-Match", `"0x1"`, true, 201, ""},
		"write what is as old as it was":      {http.MethodPut, "If-Unmodified-Since", future, true, 201, ""},
		"write what is younger":               {http.MethodPut, "If-Unmodified-Since", past, true, 412, "ConditionNotMet"},
		"write what has been changed":         {http.MethodPut, "If-Modified-Since", past, true, 201, ""},
		"write what has not been changed":     {http.MethodPut, "If-Modified-Since", future, true, 412, "ConditionNotMet"},
		"delete what one knows":               {http.MethodDelete, "If-Match", "ETAG", true, 202, ""},
		"delete what has changed":             {http.MethodDelete, "If-Match", `"0x1"`, true, 412, "ConditionNotMet"},
		"delete what is younger":              {http.MethodDelete, "If-Unmodified-Since", past, true, 412, "ConditionNotMet"},
		"read what one knows":                 {http.MethodGet, "If-None-Match", "ETAG", true, 304, ""},
		"read what has changed":               {http.MethodGet, "If-None-Match", `"0x1"`, true, 200, ""},
		"read only what one knows":            {http.MethodGet, "If-Match", `"0x1"`, true, 412, ""},
		"read what has not been changed":      {http.MethodGet, "If-Modified-Since", future, true, 304, ""},
		"look at what one knows":              {http.MethodHead, "If-Match", "ETAG", true, 200, ""},
		"commit blocks where there is a blob": {"blocks", "If-None-Match", "*", true, 409, "BlobAlreadyExists"},
		"commit blocks where there is none":   {"blocks", "If-None-Match", "*", false, 201, ""},
	} {
		s := account(t, false, "None")
		if c.there {
			c.value = strings.ReplaceAll(c.value, "ETAG", upload(t, s, "/con/one", "old").header.Get("ETag"))
		}
		var got answered
		switch c.method {
		case http.MethodPut:
			got = upload(t, s, "/con/one", "new", c.header, c.value)
		case "blocks":
			send(t, s, http.MethodPut, "/con/one?comp=block&blockid=MQ%3D%3D", "new")
			got = send(t, s, http.MethodPut, "/con/one?comp=blocklist", "<BlockList><Latest>MQ==</Latest></BlockList>", c.header, c.value)
		default:
			got = send(t, s, c.method, "/con/one", "", c.header, c.value)
		}
		wants(t, name, got, c.status, c.code)
		if c.there && got.status == 412 {
			if left := send(t, s, http.MethodGet, "/con/one", ""); left.text != "old" {
				t.Errorf("%s: what was refused has left %q", name, left.text)
			}
		}
	}
}

// Parts of a blob: https://learn.microsoft.com/rest/api/storageservices/specifying-the-range-header-for-blob-service-operations.
func TestRangesOfABlob(t *testing.T) {
	s := account(t, false, "None")
	whole := upload(t, s, "/con/one", "0123456789").header.Get("Content-MD5")
	for name, c := range map[string]struct {
		headers      []string
		status       int
		text, ranges string
	}{
		"the whole":            {nil, 200, "0123456789", ""},
		"a part":               {[]string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		"by its own header":    {[]string{"x-ms-range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		"its own header wins":  {[]string{"Range", "bytes=0-0", "x-ms-range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		"to the end":           {[]string{"x-ms-range", "bytes=7-"}, 206, "789", "bytes 7-9/10"},
		"beyond the end":       {[]string{"x-ms-range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		"begins after the end": {[]string{"x-ms-range", "bytes=10-"}, 416, "", "bytes */10"},
	} {
		got := send(t, s, http.MethodGet, "/con/one", "", c.headers...)
		if got.status != c.status || c.status < 300 && got.text != c.text || got.header.Get("Content-Range") != c.ranges {
			t.Errorf("%s: %d %q %q, want %d %q %q", name, got.status, got.text, got.header.Get("Content-Range"), c.status, c.text, c.ranges)
		}
		inPart, ofPart := got.header.Get("x-ms-blob-content-md5"), got.header.Get("Content-MD5")
		if c.status == 200 && ofPart != whole || c.status == 206 && (ofPart != "" || inPart != whole) {
			t.Errorf("%s: the hash of the answer is %q, of the blob %q", name, ofPart, inPart)
		}
	}
}

// A blob in blocks: https://learn.microsoft.com/rest/api/storageservices/put-block-list.
func TestBlocks(t *testing.T) {
	s := account(t, false, "None")
	id := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%03d", n))) }
	block := func(blob, id, text string, more ...string) answered {
		return send(t, s, http.MethodPut, "/con/"+blob+"?comp=block&blockid="+url.QueryEscape(id), text, more...)
	}
	commit := func(blob string, ids ...string) answered {
		var list bytes.Buffer
		for _, id := range ids {
			fmt.Fprintf(&list, "<Latest>%s</Latest>", id)
		}
		return send(t, s, http.MethodPut, "/con/"+blob+"?comp=blocklist", "<BlockList>"+list.String()+"</BlockList>", "x-ms-blob-content-type", "text/plain")
	}
	wants(t, "no id", block("one", "", "x"), 400, "MissingRequiredQueryParameter")
	wants(t, "an id that is not encoded", block("one", "a b", "x"), 400, "InvalidQueryParameterValue")
	wants(t, "a long id", block("one", base64.StdEncoding.EncodeToString(make([]byte, 65)), "x"), 400, "InvalidQueryParameterValue")
	wants(t, "damaged on the way", block("one", id(1), "x", "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="), 400, "Md5Mismatch")
	wants(t, "another container", send(t, s, http.MethodPut, "/none/one?comp=block&blockid=MQ%3D%3D", "x"), 404, "ContainerNotFound")
	for i, text := range []string{"a", "b", "c"} {
		wants(t, "block", block("one", id(i), text), 201, "")
	}
	block("one", id(1), "B")
	block("two", id(7), "other")
	wants(t, "before the commit", send(t, s, http.MethodGet, "/con/one", ""), 404, "BlobNotFound")
	wants(t, "a block of another blob", commit("one", id(7)), 400, "InvalidBlockList")
	wants(t, "no list", send(t, s, http.MethodPut, "/con/one?comp=blocklist", "<BlockList><Latest>"), 400, "InvalidXmlDocument")
	wants(t, "commit", commit("one", id(2), id(1), id(0)), 201, "")
	if got := send(t, s, http.MethodGet, "/con/one", ""); got.text != "cBa" || got.header.Get("Content-Type") != "text/plain" {
		t.Errorf("the blob is %q of type %s", got.text, got.header.Get("Content-Type"))
	}
	wants(t, "blocks that were committed", commit("one", id(0)), 400, "InvalidBlockList")
	wants(t, "those of another blob stay", commit("two", id(7)), 201, "")
	wants(t, "no blocks", commit("empty"), 201, "")
	if got := send(t, s, http.MethodGet, "/con/empty", ""); got.status != 200 || got.text != "" {
		t.Errorf("a blob of no blocks: %d %q", got.status, got.text)
	}
}

// Who signs with a key of the account: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key.
func TestSharedKeys(t *testing.T) {
	s := account(t, false, "None")
	upload(t, s, "/con/one", "hello")
	signed := func(change func(r *http.Request), after func(r *http.Request)) answered {
		r := httptest.NewRequest(http.MethodGet, "https://acct"+Suffix+"/con/one?timeout=30", http.NoBody)
		r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
		if change != nil {
			change(r)
		}
		key, _ := base64.StdEncoding.DecodeString(accountKey)
		r.Header.Set("Authorization", "SharedKey acct:"+sign(key, stringToSign(r, "acct")))
		if after != nil {
			after(r)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return answered{w.Code, w.Header().Get("x-ms-error-code"), w.Header(), w.Body.String()}
	}
	date := func(d time.Duration) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set("x-ms-date", time.Now().Add(d).UTC().Format(http.TimeFormat)) }
	}
	const failed = "AuthenticationFailed"
	wants(t, "signed", signed(nil, nil), 200, "")
	wants(t, "by the common header", signed(func(r *http.Request) { r.Header.Set("Date", r.Header.Get("x-ms-date")); r.Header.Del("x-ms-date") }, nil), 200, "")
	wants(t, "14 minutes ago", signed(date(-14*time.Minute), nil), 200, "")
	wants(t, "16 minutes ago", signed(date(-16*time.Minute), nil), 403, failed)
	wants(t, "in 16 minutes", signed(date(16*time.Minute), nil), 403, failed)
	wants(t, "no date", signed(func(r *http.Request) { r.Header.Del("x-ms-date") }, nil), 403, failed)
	for what, after := range map[string]func(r *http.Request){
		"another method": func(r *http.Request) { r.Method = http.MethodDelete },
		"another blob":   func(r *http.Request) { r.URL.Path = "/con/two" },
		"another query":  func(r *http.Request) { r.URL.RawQuery = "timeout=31" },
		"another header": func(r *http.Request) { r.Header.Set("x-ms-version", "2099-01-01") },
		"another range":  func(r *http.Request) { r.Header.Set("Range", "bytes=0-1") },
		"another account's name": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "acct:", "other:", 1))
		},
		"another signature":       func(r *http.Request) { r.Header.Set("Authorization", "SharedKey acct:AAAA") },
		"a header that is signed": func(r *http.Request) { r.Header.Set("If-Match", "*") },
	} {
		wants(t, what, signed(nil, after), 403, failed)
	}
	wants(t, "another scheme", signed(nil, func(r *http.Request) { r.Header.Set("Authorization", "Basic eDp5") }), 400, "InvalidAuthenticationInfo")
	wants(t, "a header that is not signed", signed(nil, func(r *http.Request) { r.Header.Set("User-Agent", "other") }), 200, "")
}

// Lists as https://learn.microsoft.com/rest/api/storageservices/list-blobs tells of them.
func TestListsOfBlobs(t *testing.T) {
	s := account(t, false, "None")
	for _, name := range []string{"b", "a", "dir/1", "dir/sub/2", "dirt", "Z"} {
		upload(t, s, "/con/"+name, name)
	}
	const list = "/con?restype=container&comp=list"
	shown := func(query string) string {
		return strings.Join(namesIn(send(t, s, http.MethodGet, list+query, "").text), " ")
	}
	for query, want := range map[string]string{
		"": "Z a b dir/1 dir/sub/2 dirt", "&prefix=dir": "dir/1 dir/sub/2 dirt", "&prefix=dir/": "dir/1 dir/sub/2", "&prefix=none": "", "&maxresults=2": "Z a",
		"&delimiter=/": "Z a b dirt dir/", "&delimiter=/&prefix=dir/": "dir/1 dir/sub/", "&prefix=D": "",
	} {
		if got := shown(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	wants(t, "no results", send(t, s, http.MethodGet, list+"&maxresults=0", ""), 400, "OutOfRangeQueryParameterValue")
	wants(t, "no number", send(t, s, http.MethodGet, list+"&maxresults=many", ""), 400, "OutOfRangeQueryParameterValue")
	wants(t, "a marker of nobody", send(t, s, http.MethodGet, list+"&marker=%21", ""), 400, "InvalidQueryParameterValue")
	wants(t, "another container", send(t, s, http.MethodGet, strings.Replace(list, "con", "none", 1), ""), 404, "ContainerNotFound")
	if got := send(t, s, http.MethodGet, list+"&maxresults=1&prefix=b", ""); !strings.Contains(got.text, "<NextMarker></NextMarker>") ||
		!strings.Contains(got.text, "<Content-Length>1</Content-Length>") ||
		!strings.Contains(got.text, "<BlobType>BlockBlob</BlobType>") {
		t.Errorf("the last page: %s", got.text)
	}
}

// Containers over the wire of the blob service: https://learn.microsoft.com/rest/api/storageservices/create-container.
func TestContainers(t *testing.T) {
	s := account(t, true, "None")
	at := func(name string) string { return "/" + name + "?restype=container" }
	wants(t, "create", send(t, s, http.MethodPut, at("docs"), "", "x-ms-blob-public-access", "blob"), 201, "")
	wants(t, "create again", send(t, s, http.MethodPut, at("docs"), ""), 409, "ContainerAlreadyExists")
	wants(t, "a name", send(t, s, http.MethodPut, at("no"), ""), 400, "InvalidResourceName")
	got := send(t, s, http.MethodGet, at("docs"), "")
	wants(t, "look", got, 200, "")
	if got.header.Get("x-ms-blob-public-access") != "blob" || got.header.Get("ETag") == "" {
		t.Errorf("a container: %v", got.header)
	}
	upload(t, s, "/docs/one", "hello")
	upload(t, s, "/con/one", "mine")
	send(t, s, http.MethodPut, "/docs/two?comp=block&blockid=MQ%3D%3D", "x")
	wants(t, "to the public", send(t, s, http.MethodPut, at("docs")+"&comp=acl", "", "x-ms-blob-public-access", "container"), 200, "")
	if got := send(t, s, http.MethodGet, at("docs")+"&comp=acl", ""); got.header.Get("x-ms-blob-public-access") != "container" {
		t.Errorf("who may read: %v", got.header)
	}
	wants(t, "private again", send(t, s, http.MethodPut, at("docs")+"&comp=acl", ""), 200, "")
	if got := send(t, s, http.MethodGet, at("docs")+"&comp=acl", ""); got.header.Get("x-ms-blob-public-access") != "" {
		t.Errorf("who may read a private one: %v", got.header)
	}
	policy := `<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>`
	wants(t, "a stored policy", send(t, s, http.MethodPut, at("docs")+"&comp=acl", policy), 501, "NotServedBySandbox")
	wants(t, "delete", send(t, s, http.MethodDelete, at("docs"), ""), 202, "")
	wants(t, "delete again", send(t, s, http.MethodDelete, at("docs"), ""), 404, "ContainerNotFound")
	wants(t, "make it again", send(t, s, http.MethodPut, at("docs"), ""), 201, "")
	wants(t, "what was in it", send(t, s, http.MethodGet, "/docs/one", ""), 404, "BlobNotFound")
	wants(t, "blocks that were in it", send(t, s, http.MethodPut, "/docs/two?comp=blocklist", "<BlockList><Latest>MQ==</Latest></BlockList>"), 400,
		"InvalidBlockList")
	wants(t, "what is beside it", send(t, s, http.MethodGet, "/con/one", ""), 200, "")
}

// The containers of an account, page by page: https://learn.microsoft.com/rest/api/storageservices/list-containers2.
func TestListsOfContainers(t *testing.T) {
	s := account(t, true, "Blob") // with con
	for _, name := range []string{"zoo", "app", "apple"} {
		wants(t, name, send(t, s, http.MethodPut, "/"+name+"?restype=container", ""), 201, "")
	}
	const list = "/?comp=list"
	for query, want := range map[string]string{"": "app apple con zoo", "&prefix=app": "app apple", "&prefix=none": "", "&prefix=apple": "apple"} {
		if got := strings.Join(namesIn(send(t, s, http.MethodGet, list+query, "").text), " "); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	var seen []string
	for marker, pages := "", 0; pages < 9; pages++ {
		text := send(t, s, http.MethodGet, list+"&maxresults=3&marker="+marker, "").text
		seen = append(seen, namesIn(text)...)
		_, after, _ := strings.Cut(text, "<NextMarker>")
		if marker, _, _ = strings.Cut(after, "</NextMarker>"); marker == "" {
			break
		}
		seen = append(seen, "|")
	}
	if got := strings.Join(seen, " "); got != "app apple con | zoo" {
		t.Errorf("page by page: %s", got)
	}
	// The resource manager has made this one.
	text := send(t, s, http.MethodGet, list+"&prefix=con", "").text
	for _, want := range []string{"<PublicAccess>blob</PublicAccess>", "<Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// namesIn are the names in a list.
func namesIn(text string) []string {
	var out []string
	for _, part := range strings.Split(text, "<Name>")[1:] {
		name, _, _ := strings.Cut(part, "</Name>")
		out = append(out, name)
	}
	return out
}
