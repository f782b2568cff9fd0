package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// follow sends a page's content whenever it has changed, as server-sent events: "page" with HTML as a JSON string, "trouble" with what keeps it
// from being read. A browser that comes again says what it has seen.
func (s *server) follow(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d browsers follow already", streams), http.StatusServiceUnavailable)
		return
	}
	p := pageOf(r)
	seen := r.Header.Get("Last-Event-ID")
	if seen == "" {
		seen = r.URL.Query().Get("seen")
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		event, text, version, over := s.news(r, p)
		if version != seen {
			seen = version
			quoted, _ := json.Marshal(text) // a string is data
			_, _ = fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", version, event, quoted)
		} else {
			_, _ = fmt.Fprint(w, ": nothing new\n\n") // and a connection that has gone is found
		}
		if out.Flush() != nil || over || s.Tick(r.Context()) != nil {
			return
		}
	}
}

// news is over where the viewer may not look any more: whoever comes again is asked who it is.
func (s *server) news(r *http.Request, p page) (event, text, seen string, over bool) {
	v, err := s.read(r.Context(), viewerOf(r.Context()), p)
	if err != nil {
		return "trouble", err.Error(), version(&view{Trouble: err.Error()}), apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
	}
	v.Root, v.Live, v.Cluster = p.root, p.live, p.name
	var out bytes.Buffer
	if err := s.content(v).Render(&out); err != nil {
		return "trouble", err.Error(), version(&view{Trouble: err.Error()}), false
	}
	return "page", out.String(), version(v), false
}
