package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/hypervisor"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// feedSource gives revisions to snapshots: the store's, taken when the snapshot last differed. They grow over restarts because the store's do.
type feedSource struct {
	store *store.Store

	asked atomic.Int64 // when a hypervisor last asked or was being answered, in nanoseconds of Unix

	mu   sync.Mutex
	seen uint64 // revision of the store that last was looked at
	text []byte // of the last snapshot, without its revision
	last feed.Snapshot
}

func newFeedSource(s *store.Store) *feedSource { return &feedSource{store: s} }

// current returns the newest snapshot and what tells that it may be out of date.
func (f *feedSource) current() (feed.Snapshot, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rev, changed := f.store.Revision()
	if f.text != nil && rev == f.seen {
		return f.last, changed, nil
	}
	snap := hypervisor.Snapshot(f.store)
	text, err := json.Marshal(snap)
	if err != nil {
		return snap, changed, err
	}
	f.seen = rev
	if !bytes.Equal(text, f.text) {
		snap.Revision = max(rev, 1)
		f.last, f.text = snap, text
	}
	return f.last, changed, nil
}

// absent is how long nobody must have asked for the machines before there is no hypervisor.
const absent = 2 * maxPoll

// read tells whether there is a hypervisor.
func (f *feedSource) read() bool {
	at := f.asked.Load()
	return at != 0 && time.Since(time.Unix(0, at)) < absent
}

// next waits for a snapshot newer than after; false means that there was none in time.
func (f *feedSource) next(ctx context.Context, after uint64) (feed.Snapshot, bool, error) {
	for {
		snap, changed, err := f.current()
		if err != nil || snap.Revision > after {
			return snap, err == nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return snap, false, nil
		}
	}
}

const maxPoll = time.Minute

func (s *Server) serveAdmin(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /machines", s.machines)
	mux.HandleFunc("POST /machines/status", s.machineStatus)
	s.faults.Register(mux)
	// Polls under way end with ctx, so that stopping does not wait for them.
	srv := &http.Server{Handler: withContext(ctx, mux), ReadHeaderTimeout: maxPoll}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(s.admin) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	if err := srv.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func withContext(ctx context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		both, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		h.ServeHTTP(w, r.WithContext(both))
	})
}

func (s *Server) machines(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, err := strconv.ParseUint(q.Get("after"), 10, 64)
	if err != nil && q.Get("after") != "" {
		http.Error(w, "after is a revision number", http.StatusBadRequest)
		return
	}
	timeout, err := time.ParseDuration(q.Get("timeout"))
	if err != nil && q.Get("timeout") != "" {
		http.Error(w, "timeout is a duration such as 25s", http.StatusBadRequest)
		return
	}
	s.feed.asked.Store(time.Now().UnixNano())
	ctx, cancel := context.WithTimeout(r.Context(), min(timeout, maxPoll))
	defer cancel()
	snap, fresh, err := s.feed.next(ctx, after)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !fresh:
		w.WriteHeader(http.StatusNotModified)
	default:
		wire.JSON(w, http.StatusOK, snap)
	}
}

func (s *Server) machineStatus(w http.ResponseWriter, r *http.Request) {
	var st feed.Status
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&st); err != nil || st.ID == "" {
		http.Error(w, "the body is no status", http.StatusBadRequest)
		return
	}
	if err := hypervisor.ReportPower(s.store, st); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
