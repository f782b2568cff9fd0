// Package imagestest is a registry for tests: a real one in this process, behind TLS, that wants a password or a token and counts what
// is written.
package imagestest

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Login of the registry.
const (
	User     = "u"
	Password = "p"
	// RefreshToken is what `az acr login` leaves as identity token, for the user of no name.
	RefreshToken = "refresh"
	accessToken  = "access"
)

// Registry is one that runs until the test ends.
type Registry struct {
	Host string // 127.0.0.1:port
	CA   string // file with the authority of its certificate
	// Writes counts requests that change something.
	Writes atomic.Int64
	// Tokens counts tokens that were given out.
	Tokens atomic.Int64

	server  *httptest.Server
	handler http.Handler
	mu      sync.Mutex
	without map[string]bool
}

// Kind of a registry.
type Kind int

const (
	// Basic wants user and password.
	Basic Kind = iota
	// Azure exchanges a refresh token, or user and password, for an access token, as Azure's registries do.
	Azure
)

// New starts a registry. referrers says whether it has the referrers API.
func New(t *testing.T, kind Kind, referrers bool) *Registry {
	t.Helper()
	r := &Registry{handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers)), without: map[string]bool{}}
	guard := r.basic
	if kind == Azure {
		guard = r.azure
	}
	r.server = httptest.NewTLSServer(http.HandlerFunc(guard))
	t.Cleanup(r.server.Close)
	r.Host = strings.TrimPrefix(r.server.URL, "https://")
	r.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(r.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// Lose makes a digest be gone.
func (r *Registry) Lose(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.without[digest] = true
}

func (r *Registry) basic(w http.ResponseWriter, q *http.Request) {
	if user, password, _ := q.BasicAuth(); user != User || password != Password {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.serve(w, q)
}

// azure is the protocol of an Azure container registry: a challenge names /oauth2/token, which takes the refresh token by POST, and
// user and password by GET.
func (r *Registry) azure(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/oauth2/token" {
		r.token(w, q)
		return
	}
	if q.Header.Get("Authorization") != "Bearer "+accessToken {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+r.server.URL+`/oauth2/token",service="`+r.Host+`"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.serve(w, q)
}

func (r *Registry) token(w http.ResponseWriter, q *http.Request) {
	user, password, _ := q.BasicAuth()
	granted := q.Method == http.MethodGet && user == User && password == Password && q.FormValue("service") == r.Host
	if q.Method == http.MethodPost {
		granted = q.FormValue("grant_type") == "refresh_token" && q.FormValue("refresh_token") == RefreshToken && q.FormValue("service") == r.Host
	}
	if !granted {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.Tokens.Add(1)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"access_token": accessToken})
}

func (r *Registry) serve(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	lost := r.without[filepath.Base(q.URL.Path)]
	r.mu.Unlock()
	if lost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch q.Method {
	case http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete:
		r.Writes.Add(1)
	}
	r.handler.ServeHTTP(w, q)
}

// DockerConfig writes a Docker configuration file with an entry for the registry.
func (r *Registry) DockerConfig(t *testing.T, entry map[string]string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"auths": map[string]any{r.Host: entry}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
