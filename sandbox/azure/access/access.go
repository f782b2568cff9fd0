// Package access writes one JSON line per request that the embedded Azure answers.
package access

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Entry is one line.
type Entry struct {
	Time       time.Time   `json:"time"`
	Plane      string      `json:"plane"`
	Method     string      `json:"method"`
	URL        string      `json:"url"`
	Status     int         `json:"status"` // 0: the connection was ended without an answer
	UserAgent  string      `json:"userAgent,omitempty"`
	Principal  string      `json:"principal,omitempty"`
	Faults     []string    `json:"faults,omitempty"` // ids of the injected faults that hit the request
	Violations []Violation `json:"violations,omitempty"`
	Millis     float64     `json:"durationMs"`
}

// Violation is one thing that a request or its answer has wrong by the schema of a type.
type Violation struct {
	Side       string `json:"side"` // SideRequest or SideAnswer
	Method     string `json:"method"`
	Type       string `json:"type"` // of the resource: a template deployment puts others
	APIVersion string `json:"apiVersion"`
	Problem    string `json:"problem"` // what, and where
}

// Sides of a violation. One in an answer is a fault of the embedded Azure.
const (
	SideRequest = "request"
	SideAnswer  = "answer"
)

// rotateAbove is the size in bytes at which the log is renamed to access.log.1.
const rotateAbove = 64 << 20

// Log is an access log file.
type Log struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

// Open appends to the log in the folder.
func Open(dir string) (*Log, error) {
	l := &Log{path: filepath.Join(dir, "access.log")}
	return l, l.open()
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the access log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("opening the access log: %w", err)
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Write adds a line. A full disk must not stop the service, so errors are dropped.
func (l *Log) Write(e Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.file.Write(append(line, '\n'))
	if l.size += int64(n); l.size > rotateAbove {
		if os.Rename(l.path, l.path+".1") == nil {
			old := l.file
			if l.open() == nil {
				old.Close()
			}
		}
	}
}

type notesKey struct{}

// notes are what the handlers of a request tell the log.
type notes struct {
	mu        sync.Mutex
	principal string
	faults    []string
	wrong     []Violation
}

func note(ctx context.Context, f func(*notes)) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		f(n)
	}
}

// SetPrincipal notes who sent the request.
func SetPrincipal(ctx context.Context, id string) { note(ctx, func(n *notes) { n.principal = id }) }

// AddFault notes that an injected fault hit the request.
func AddFault(ctx context.Context, id string) {
	note(ctx, func(n *notes) { n.faults = append(n.faults, id) })
}

// AddViolation notes what the request or its answer has wrong.
func AddViolation(ctx context.Context, v Violation) {
	note(ctx, func(n *notes) { n.wrong = append(n.wrong, v) })
}

// Wrap logs the requests of a plane, also those whose handler ends the connection.
func (l *Log) Wrap(plane string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w}
		var n notes
		defer func() {
			l.Write(Entry{Time: start.UTC(), Plane: plane, Method: r.Method, URL: "https://" + r.Host + secretless(r.URL), Status: rec.status,
				UserAgent: r.UserAgent(), Principal: n.principal, Faults: n.faults, Violations: n.wrong, Millis: float64(time.Since(start).Microseconds()) / 1000})
		}()
		h.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), notesKey{}, &n)))
		if rec.status == 0 {
			rec.status = http.StatusOK
		}
	})
}

// secretless is the path and query without the signature, by which anybody could read what it signs.
func secretless(u *url.URL) string {
	q := u.Query()
	if !q.Has("sig") {
		return u.RequestURI()
	}
	q.Set("sig", "REDACTED")
	shown := *u
	shown.RawQuery = q.Encode()
	return shown.RequestURI()
}

type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
