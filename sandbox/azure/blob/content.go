package blob

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// content keeps the bytes of blobs in files named by their hash; a file is written before a document refers to it.
type content struct{ dir string }

func (c content) path(hash string) string { return filepath.Join(c.dir, filepath.Base(hash)) }

// stored describes received bytes.
type stored struct {
	hash, md5 string
	size      int64
}

func (c content) write(r io.Reader) (stored, error) {
	tmp, err := os.CreateTemp(c.dir, ".upload-*")
	if err != nil {
		return stored{}, fmt.Errorf("receiving a blob: %w", err)
	}
	defer os.Remove(tmp.Name())
	sha, sum := sha256.New(), md5.New()
	n, err := io.Copy(io.MultiWriter(tmp, sha, sum), r)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return stored{}, fmt.Errorf("receiving a blob: %w", err)
	}
	out := stored{hash: hex.EncodeToString(sha.Sum(nil)), md5: base64.StdEncoding.EncodeToString(sum.Sum(nil)), size: n}
	if err := os.Rename(tmp.Name(), c.path(out.hash)); err != nil {
		return stored{}, fmt.Errorf("receiving a blob: %w", err)
	}
	return out, nil
}

// concat joins stored pieces into one.
func (c content) concat(hashes []string) (stored, error) {
	var files []io.Reader
	for _, h := range hashes {
		f, err := os.Open(c.path(h))
		if err != nil {
			return stored{}, fmt.Errorf("reading a block: %w", err)
		}
		defer f.Close()
		files = append(files, f)
	}
	return c.write(io.MultiReader(files...))
}

func (s *Service) serveContent(w http.ResponseWriter, r *http.Request, d Doc) {
	f, err := os.Open(s.content.path(wire.Text(d, "content")))
	if err != nil {
		writeError(w, fmt.Errorf("the content of the blob is lost: %w", err))
		return
	}
	defer f.Close()
	blobHeaders(w.Header(), d)
	overrideHeaders(w.Header(), r)
	if own := r.Header.Get("x-ms-range"); own != "" { // wins over Range, says the service's reference
		r.Header.Set("Range", own)
	}
	if r.Header.Get("Range") != "" { // the hash is of the whole
		w.Header().Set("x-ms-blob-content-md5", w.Header().Get("Content-MD5"))
		w.Header().Del("Content-MD5")
	}
	http.ServeContent(encoded(w), r, "", modified(d), f)
}

// encoded tells of a coding only with the content itself: where one is named before, the standard library leaves the length out.
func encoded(w http.ResponseWriter) http.ResponseWriter {
	const header = "Content-Encoding"
	coding := w.Header().Get(header)
	if coding == "" {
		return w
	}
	w.Header().Del(header)
	return &encodedWriter{w, func() { w.Header().Set(header, coding) }}
}

type encodedWriter struct {
	http.ResponseWriter
	tell func()
}

func (w *encodedWriter) WriteHeader(status int) {
	if status < http.StatusMultipleChoices {
		w.tell()
	}
	w.ResponseWriter.WriteHeader(status)
}

// overrideHeaders answers with the headers that a shared access signature asks for.
func overrideHeaders(h http.Header, r *http.Request) {
	q := r.URL.Query()
	if !q.Has("sig") {
		return
	}
	for name, header := range map[string]string{"rscc": "Cache-Control", "rscd": "Content-Disposition", "rsce": "Content-Encoding", "rscl": "Content-Language", "rsct": "Content-Type"} {
		if v := q.Get(name); v != "" {
			h.Set(header, v)
		}
	}
}

func blobHeaders(h http.Header, d Doc) {
	h.Set("ETag", wire.Text(d, "etag"))
	h.Set("Content-Type", wire.Text(d, "contentType"))
	h.Set("x-ms-blob-type", "BlockBlob")
	h.Set("x-ms-lease-status", "unlocked")
	h.Set("x-ms-lease-state", "available")
	h.Set("x-ms-server-encrypted", "true")
	h.Set("Content-MD5", wire.Text(d, "md5"))
	for member, header := range blobProperties {
		if v := wire.Text(d, member); v != "" {
			h.Set(header, v)
		}
	}
	for k, v := range wire.Sub(d, "metadata") {
		if s, ok := v.(string); ok {
			h.Set("x-ms-meta-"+k, s)
		}
	}
}

func modified(d Doc) time.Time {
	at := wire.Text(d, "modified")
	if at == "" { // a container that the resource manager made
		at = wire.Text(wire.Props(d), "lastModifiedTime")
	}
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return time.Unix(0, 0)
	}
	return t
}
