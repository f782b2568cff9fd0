package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// behind answers what a plane behind the rules answers to a request.
func behind(i *Injector, plane string, r *http.Request, h http.HandlerFunc) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	i.Wrap(plane, h).ServeHTTP(w, r)
	return w
}

// A list comes in pages of a rule's size; whoever follows the links sees each entry once, also when the rule is gone meanwhile.
func TestPagesOfAList(t *testing.T) {
	for plane, member := range map[string]string{ARM: "nextLink", Graph: "@odata.nextLink"} {
		i := open(t, filepath.Join(t.TempDir(), "f"))
		add(t, i, Rule{Plane: plane, Method: "GET", PageSize: 2})
		list := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"value":[1,2,3,4,5],"more":"x"}`) }
		var seen []any
		pages := 0
		for next := "https://h/list?api-version=1&$top=3"; next != ""; pages++ {
			var doc map[string]any
			w := behind(i, plane, httptest.NewRequest(http.MethodGet, next, nil), list)
			if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc["more"] != "x" {
				t.Fatalf("%s: %s, %v", next, w.Body, err)
			}
			seen = append(seen, doc["value"].([]any)...)
			if next, _ = doc[member].(string); next != "" && (!strings.Contains(next, "api-version=1") || strings.Contains(next, "top")) {
				t.Errorf("the next page is at %s", next)
			}
			if pages == 0 {
				if err := i.Clear(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if fmt.Sprint(seen) != "[1 2 3 4 5]" || pages != 3 {
			t.Errorf("%s: %v on %d pages", plane, seen, pages)
		}
	}
}

// What is no list, and what was refused, is left as it is.
func TestWhatIsNotCut(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	add(t, i, Rule{Plane: ARM, PageSize: 1})
	for name, c := range map[string]struct {
		method, body string
		status       int
	}{
		"no list": {http.MethodGet, `{"value":"text"}`, 200}, "a refusal": {http.MethodGet, `{"value":[1,2]}`, 404},
		"a write": {http.MethodPut, `{"value":[1,2]}`, 200},
		"no JSON": {http.MethodGet, `value`, 200}, "a short list": {http.MethodGet, `{"value":[1]}`, 200}, "null": {http.MethodGet, `null`, 200},
	} {
		w := behind(i, ARM, httptest.NewRequest(c.method, "https://h/x", nil), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", "e")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.body || w.Header().Get("ETag") != "e" {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
	}
	for token, later := range map[string]bool{"sandbox-2-4": true, "sandbox-2-0": false, "sandbox-0-4": false, "sandbox-2--1": false, "theirs": false,
		"": false} {
		if got := LaterPage(httptest.NewRequest(http.MethodGet, "https://h/x?$skiptoken="+token, nil)); got != later {
			t.Errorf("the token %q: %v", token, got)
		}
	}
}

// A policy that modifies what is written: the plane sees the changed body, and its length.
func TestPatchedBodies(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	add(t, i, Rule{Plane: ARM, Patch: map[string]any{"properties": map[string]any{"public": false, "gone": nil}}},
		Rule{Plane: ARM, Patch: map[string]any{"tags": map[string]any{"by": "policy"}}})
	for body, want := range map[string]string{
		`{"properties":{"public":true,"gone":1,"kept":2}}`: `{"properties":{"kept":2,"public":false},"tags":{"by":"policy"}}`,
		`{}`: `{"properties":{"public":false},"tags":{"by":"policy"}}`, "": "", "no JSON": "no JSON", `null`: `null`,
	} {
		var got string
		r := httptest.NewRequest(http.MethodPut, "https://h/x", strings.NewReader(body))
		behind(i, ARM, r, func(_ http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			if err != nil || r.ContentLength != int64(len(data)) {
				t.Errorf("%s: %d bytes are told of and %d come, %v", body, r.ContentLength, len(data), err)
			}
			got = string(data)
		})
		if got != want {
			t.Errorf("%s became %s, want %s", body, got, want)
		}
	}
}

// Looking into a body leaves it for the plane, and so does a body that breaks off.
func TestBodiesAreLeft(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	add(t, i, Rule{Plane: Entra, Principal: "app", Status: 500})
	form := func(client string) *http.Request {
		return httptest.NewRequest(http.MethodPost, "https://h/token", strings.NewReader("client_id="+client+"&x=y"))
	}
	got := ""
	read := func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got = string(data)
	}
	if w := behind(i, Entra, form("APP"), read); w.Code != 500 || got != "" {
		t.Errorf("whom the rule means: %d, and %q reaches the plane", w.Code, got)
	}
	if w := behind(i, Entra, form("other"), read); w.Code != 200 || got != "client_id=other&x=y" {
		t.Errorf("another one: %d, and %q reaches the plane", w.Code, got)
	}
	broken := httptest.NewRequest(http.MethodPost, "https://h/token", io.MultiReader(strings.NewReader("client_id=other"), failing{io.ErrUnexpectedEOF}))
	behind(i, Entra, broken, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("a body that broke off looks whole to the plane")
		}
	})
}

// How an operation goes wrong is asked for by who starts one, and counts then.
func TestOperationsGoWrong(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	add(t, i, Rule{Plane: ARM, Method: "PUT", Operation: OperationSlow, Seconds: 2},
		Rule{Plane: ARM, Method: "PUT", Operation: OperationFail, Code: "Broken", Count: 1}, Rule{Plane: ARM, Method: "DELETE", Operation: OperationFail})
	start := func(method string, asks bool) (out Operation) {
		behind(i, ARM, httptest.NewRequest(method, "https://h/x", nil), func(_ http.ResponseWriter, r *http.Request) {
			if asks {
				out = TakeOperation(r.Context())
			}
		})
		return out
	}
	start(http.MethodPut, false) // it starts none
	if got := start(http.MethodPut, true); got != (Operation{Delay: 2 * time.Second, Code: "Broken"}) {
		t.Errorf("the first: %+v", got)
	}
	if got := start(http.MethodPut, true); got != (Operation{Delay: 2 * time.Second}) {
		t.Errorf("the second: %+v", got)
	}
	if got := start(http.MethodDelete, true); got != (Operation{Code: "InternalExecutionError"}) {
		t.Errorf("another: %+v", got)
	}
	if got := start(http.MethodGet, true); got != (Operation{}) || TakeOperation(context.Background()) != (Operation{}) {
		t.Errorf("what no rule is for: %+v", got)
	}
	if l := i.List(); l[0].Fired != 2 || l[1].Fired != 1 || l[2].Fired != 1 {
		t.Errorf("counted: %+v", l)
	}
}

// The longest delay counts; a refusal by it is counted once for each request.
func TestDelays(t *testing.T) {
	i, err := Open(filepath.Join(t.TempDir(), "f"), nil, func(kind string, created time.Time) bool {
		return kind == Identity && time.Since(created) < time.Minute
	})
	if err != nil {
		t.Fatal(err)
	}
	add(t, i, Rule{Plane: ARM, Propagate: Role, Seconds: 5, Code: "short"}, Rule{Plane: ARM, Propagate: Role, Seconds: 50, Code: "long"},
		Rule{Plane: Entra, Propagate: Federation, Seconds: 500})
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	behind(i, ARM, httptest.NewRequest(http.MethodGet, "https://h/x", nil), func(_ http.ResponseWriter, r *http.Request) {
		role, identity, federation := Propagation(r.Context(), Role), Propagation(r.Context(), Identity), Propagation(r.Context(), Federation)
		if role.Time != 50*time.Second || role.Code != "long" || role.None() || !role.Hides(ago(40*time.Second)) || role.Hides(ago(time.Minute)) {
			t.Errorf("roles: %+v", role)
		}
		if identity.Time != 0 || identity.None() || identity.Holds(ago(0)) || !identity.Hides(ago(0)) || identity.Hides(ago(2*time.Minute)) {
			t.Errorf("identities, by the profile alone: %+v", identity)
		}
		if federation.Time != 0 || federation.Holds(ago(0)) {
			t.Errorf("a rule of another plane: %+v", federation)
		}
		Hit(r.Context(), Role)
		Hit(r.Context(), Role)
	})
	if l := i.List(); l[0].Fired != 1 || l[1].Fired != 1 || l[2].Fired != 0 {
		t.Errorf("counted: %+v", l)
	}
	if d := Propagation(context.Background(), Role); !d.None() {
		t.Errorf("without a request: %+v", d)
	}
}

// A reset before leaves nothing done, one after leaves it done; latency comes first in both.
func TestWhatAResetLeaves(t *testing.T) {
	for when, want := range map[string]int{Before: 0, After: 1} {
		i := open(t, filepath.Join(t.TempDir(), "f"))
		add(t, i, Rule{Reset: when, Count: 1}, Rule{Latency: Duration(time.Millisecond)})
		done := 0
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Errorf("%s: the connection goes on", when)
				}
			}()
			behind(i, ARM, httptest.NewRequest(http.MethodPut, "https://h/x", nil), func(http.ResponseWriter, *http.Request) { done++ })
		}()
		if done != want {
			t.Errorf("%s: the request took effect %d times", when, done)
		}
		if w := behind(i, ARM, httptest.NewRequest(http.MethodPut, "https://h/x", nil),
			func(http.ResponseWriter, *http.Request) { done++ }); w.Code != 200 || done != want+1 {
			t.Errorf("%s: the next one: %d", when, w.Code)
		}
	}
}

// Whoever leaves while he is kept waiting has asked for nothing.
func TestWhoDoesNotWait(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	add(t, i, Rule{Latency: Duration(time.Hour)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() {
		if recover() == nil {
			t.Error("the request went on")
		}
	}()
	behind(i, ARM, httptest.NewRequest(http.MethodPut, "https://h/x", nil).WithContext(ctx),
		func(http.ResponseWriter, *http.Request) { t.Error("the request took effect") })
}
