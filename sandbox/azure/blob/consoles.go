package blob

import (
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

// ConsoleSuffix is that of the storage accounts in which Azure itself keeps the consoles of virtual machines.
const ConsoleSuffix = ".z13.blob.storage.azure.net"

const (
	consoleAccount = "md-consoles"
	consoleVersion = "2021-08-06" // of its signatures
	consoleKeyFile = "console.key"
)

// Consoles is the http.Handler of the accounts for boot diagnostics. What is in them is read by who holds a signature of Azure's own.
type Consoles struct {
	key  []byte
	find func(machine string) string // the file of a machine's console by the machine's vmId, "" where there is none
}

// NewConsoles makes the handler; its key is in the folder, so that signatures outlive the program.
func NewConsoles(dir string, find func(machine string) string) (*Consoles, error) {
	file := filepath.Join(dir, consoleKeyFile)
	key, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		key = []byte(rand.Text())
		err = os.WriteFile(file, key, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("key for the consoles of virtual machines: %w", err)
	}
	return &Consoles{key: key, find: find}, nil
}

// URL is the address of a machine's serial console, which may be read until a time.
func (c *Consoles) URL(name, machine string, until time.Time) string {
	container := "bootdiagnostics-" + machine
	s := sas{Values: url.Values{"sv": {consoleVersion}, "sr": {"b"}, "sp": {"r"}, "spr": {"https"}, "se": {until.UTC().Format(sasTimes[0])}}}
	at := &call{name: consoleAccount, container: container, blob: name + "." + machine + ".serialconsole.log"}
	s.Set("sig", sign(c.key, at.serviceText(s)))
	return "https://" + consoleAccount + ConsoleSuffix + "/" + container + "/" + at.blob + "?" + s.Encode()
}

func (c *Consoles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-ms-request-id", uuid.NewString())
	file, err := c.open(r)
	if err != nil {
		writeError(w, err)
		return
	}
	defer file.Close()
	access.SetPrincipal(r.Context(), "key:"+consoleAccount)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("x-ms-blob-type", "PageBlob")
	http.ServeContent(w, r, "", time.Time{}, file)
}

func (c *Consoles) open(r *http.Request) (*os.File, error) {
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ".")
	container, blob, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	if !q.Has("sig") || name != consoleAccount {
		return nil, fail(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist.")
	}
	s, err := parseSAS(q)
	if err != nil {
		return nil, err
	}
	text := (&call{name: name, container: container, blob: blob}).serviceText(s)
	if !hmac.Equal([]byte(sign(c.key, text)), []byte(q.Get("sig"))) {
		return nil, forged("Signature did not match. String to sign used was %s", text)
	}
	if err := s.checkTime(); err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, mismatch("permission")
	}
	file, err := os.Open(c.find(strings.TrimPrefix(container, "bootdiagnostics-")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.")
	}
	return file, err
}
