package fault

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func noteFault(ctx context.Context, id string) { access.AddFault(ctx, id) }

// plan is what shall happen to one request.
type plan struct {
	latency  time.Duration
	failure  *Rule
	reset    string
	patches  []map[string]any
	pageSize int
	idCase   bool
	later    *pending
}

// Wrap puts the faults in front of a plane.
func (i *Injector) Wrap(plane string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := i.plan(plane, r)
		if !sleep(r.Context(), p.latency) || p.reset == Before {
			reset(w)
		}
		if p.failure != nil {
			refuse(plane, w, r, p.failure)
			return
		}
		for _, patch := range p.patches {
			patchBody(r, patch)
		}
		r = r.WithContext(context.WithValue(r.Context(), contextKey{}, p.later))
		at, page := pageOf(r, p.pageSize)
		if p.reset == "" && !page && !p.idCase {
			h.ServeHTTP(w, r)
			return
		}
		answer := &recorder{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(answer, r)
		if p.reset == After {
			reset(w)
		}
		if page {
			answer.cut(plane, r, at)
		}
		if p.idCase {
			answer.changeCase()
		}
		answer.send(w)
	})
}

// plan finds the rules that hit a request: of errors and resets the first one, of all others each.
func (i *Injector) plan(plane string, r *http.Request) plan {
	p := plan{later: &pending{injector: i, hit: map[string]bool{}}}
	if i.empty() {
		return p
	}
	// Reading the request and the store must not hold the lock: one may be slow, the other calls back from its own lock.
	q := describe(plane, r)
	q.creates = plane == ARM && r.Method == http.MethodPut && !i.exists(r.URL.Path)
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.rules {
		if !s.matches(q) {
			continue
		}
		if s.Propagate != "" || s.Operation != "" {
			p.later.rules = append(p.later.rules, s)
			continue
		}
		ends := s.Status != 0 || s.Reset != ""
		if ends && (p.failure != nil || p.reset != "") || !s.fire() {
			continue
		}
		noteFault(r.Context(), s.ID)
		p.add(&s.Rule)
		i.persist(s)
	}
	return p
}

func (i *Injector) empty() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.rules) == 0
}

func (p *plan) add(r *Rule) {
	p.latency += time.Duration(r.Latency)
	if r.Status != 0 {
		failure := *r
		p.failure = &failure
	}
	if r.Reset != "" {
		p.reset = r.Reset
	}
	if r.Patch != nil {
		p.patches = append(p.patches, r.Patch)
	}
	if r.PageSize > 0 {
		p.pageSize = r.PageSize
	}
	p.idCase = p.idCase || r.IDCase
}

// sleep is false when the client left meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reset ends the connection without an answer, with a TCP reset where the connection allows. It does not return.
func reset(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		if l, ok := c.(interface{ SetLinger(int) error }); ok {
			_ = l.SetLinger(0)
		}
		_ = c.Close()
	}
	panic(http.ErrAbortHandler)
}

func patchBody(r *http.Request, patch map[string]any) {
	var body wire.Doc
	if json.Unmarshal(peekBody(r), &body) != nil || body == nil {
		return
	}
	own, err := json.Marshal(patch) // a copy: merging shares what it takes over
	if err != nil {
		return
	}
	var change wire.Doc
	if json.Unmarshal(own, &change) != nil {
		return
	}
	wire.Merge(body, change)
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	r.Body = http.NoBody
	if len(data) > 0 {
		r.Body = readCloser{bytes.NewReader(data)}
	}
	r.ContentLength = int64(len(data))
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// recorder holds an answer back.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *recorder) send(w http.ResponseWriter) {
	for k, v := range r.header {
		w.Header()[k] = v
	}
	if r.header.Get("Content-Length") != "" {
		w.Header().Set("Content-Length", strconv.Itoa(r.body.Len()))
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}
