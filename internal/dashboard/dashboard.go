// Package dashboard shows hosted clusters to a browser: versions, node pools, machines, what is wrong because of what, and events. It reads and
// never writes, shows no Secret, and lets nobody in whom it does not know. Pages are made here, and a browser without scripts has all of them; with
// scripts they follow what happens.
package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/explain"
)

//go:embed web/icon.svg web/live.js web/style.css
var web embed.FS

// Options say what is shown, and to whom.
type Options struct {
	// Namespace of the hosted clusters; empty means all. Operator is the operator's namespace.
	Namespace, Operator string
	// Hosts are the names, with ports, that a browser may call it by: another one is a page of somebody else that has pointed a name here. Empty
	// takes any, for where Admit asks for what such a page does not have.
	Hosts []string
	// Admit decides on each request but /healthz; an error is what the browser is told, with status 401 or, of a Refusal, its own.
	Admit func(w http.ResponseWriter, r *http.Request) (*Viewer, error)
	// SignIn answers what is beneath /sign-in and /sign-out to anybody; nil where nobody signs in.
	SignIn http.Handler
	// Now is the time, and Tick returns when it is time to look again, or an error when nobody looks any more.
	Now  func() time.Time
	Tick func(context.Context) error
}

// Viewer is who looks. Pages are read with his rights.
type Viewer struct {
	// Name is shown, with a way to sign out; empty where nobody signs in.
	Name string
	// Client reads the management cluster, and Logs the last words of programs.
	Client client.Reader
	Logs   explain.Logs
}

// ErrAnswered is an error of Admit that has answered the request itself.
var ErrAnswered = errors.New("answered")

// Refusal is an error of Admit with a status of HTTP.
type Refusal struct {
	Status int
	Says   string
}

func (r *Refusal) Error() string { return r.Says }

// streams is how many browsers may follow at once.
const streams = 64

type server struct {
	Options
	streams chan struct{}
}

// page is what a request asks for: the fleet, or one cluster.
type page struct {
	namespace, name string
	// root leads from the page to the first one, and live to its stream.
	root, live string
}

// New makes the handler.
func New(o Options) http.Handler {
	s := &server{Options: o, streams: make(chan struct{}, streams)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.show)
	mux.HandleFunc("GET /live", s.follow)
	mux.HandleFunc("GET /clusters/{namespace}/{name}/{$}", s.show)
	mux.HandleFunc("GET /clusters/{namespace}/{name}/live", s.follow)
	mux.HandleFunc("GET /static/{file}", static)
	return s.guard(mux)
}

func pageOf(r *http.Request) page {
	p := page{namespace: r.PathValue("namespace"), name: r.PathValue("name"), live: "live"}
	if p.name != "" {
		p.root = "../../../"
	}
	return p
}

func static(w http.ResponseWriter, r *http.Request) {
	types := map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
	name := r.PathValue("file")
	content, err := web.ReadFile("web/" + name)
	if err != nil || types[name] == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", types[name])
	_, _ = w.Write(content) // who has gone reads no error
}

// show answers with a whole page.
func (s *server) show(w http.ResponseWriter, r *http.Request) {
	p := pageOf(r)
	viewer := viewerOf(r.Context())
	v, err := s.read(r.Context(), viewer, p)
	status := http.StatusOK
	if err != nil {
		status = statusOf(err)
		v = &view{Trouble: err.Error()}
	}
	v.Who = viewer.Name
	s.write(w, status, p, v)
}

func (s *server) write(w http.ResponseWriter, status int, p page, v *view) {
	v.Root, v.Live, v.Version, v.Cluster = p.root, p.live, version(v), p.name
	if status == http.StatusNotFound {
		v.Live = "" // nothing is there to be followed
	}
	var out bytes.Buffer
	if err := s.page(v).Render(&out); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // who has gone reads no error
}

func statusOf(err error) int {
	switch {
	case apierrors.IsNotFound(err):
		return http.StatusNotFound
	case apierrors.IsForbidden(err):
		return http.StatusForbidden
	case apierrors.IsUnauthorized(err):
		return http.StatusUnauthorized
	}
	return http.StatusBadGateway
}

// version names what a page shows, but for how long ago it was.
func version(v *view) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a view is data: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
