package arm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	networkIn = inGroup + "/providers/Microsoft.Network/"
	computeIn = inGroup + "/providers/Microsoft.Compute/"
)

const (
	get    = http.MethodGet
	put    = http.MethodPut
	patch  = http.MethodPatch
	post   = http.MethodPost
	remove = http.MethodDelete
)

// step is one request of the owner of the subscription, and how it is answered.
type step struct {
	method, path, body string
	status             int
	code               string // of a refusal
}

// play sends requests one after the other, and goes on after one that is answered otherwise.
func play(t *testing.T, s *Server, steps ...step) {
	t.Helper()
	for _, c := range steps {
		if status, code, _ := send(s, owner, c.method, c.path, parse(t, c.body)); status != c.status || code != c.code {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, status, code, c.status, c.code)
		}
	}
}

// have sends requests that only prepare what a test is about.
func have(t *testing.T, s *Server, pairs ...string) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if status, code, _ := send(s, owner, put, pairs[i], parse(t, pairs[i+1])); status >= http.StatusMultipleChoices {
			t.Fatalf("PUT %s: %d %s", pairs[i], status, code)
		}
	}
}

// parse reads a document as the gateway does; none is an empty one.
func parse(t *testing.T, text string) wire.Doc {
	t.Helper()
	d := wire.Doc{}
	if text == "" {
		return d
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// at follows members of a document, joined by dots, to a value.
func at(d wire.Doc, members string) any {
	var v any = d
	for _, m := range strings.Split(members, ".") {
		in, _ := v.(wire.Doc)
		v = in[m]
	}
	return v
}

// shown is what a GET of the owner answers.
func shown(t *testing.T, s *Server, path string) wire.Doc {
	t.Helper()
	return want(t, s, owner, get, path, nil, http.StatusOK)
}

// names are those of a list.
func names(d wire.Doc) string {
	var out []string
	for _, e := range wire.Docs(d, "value") {
		out = append(out, wire.Text(e, "name"))
	}
	return strings.Join(out, " ")
}
