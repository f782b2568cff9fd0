package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, file string) *Injector {
	t.Helper()
	i, err := Open(file, func(path string) bool { return strings.HasSuffix(path, "/there") }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func add(t *testing.T, i *Injector, rules ...Rule) []Rule {
	t.Helper()
	out, err := i.Add(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// send returns the status of a request to a plane that always answers 200, 0 for a connection that was ended.
func send(i *Injector, plane, method, target string) (status int) {
	defer func() {
		if recover() != nil {
			status = 0
		}
	}()
	w := httptest.NewRecorder()
	i.Wrap(plane, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })).
		ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Code
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"virtualNetworks/*", "/subscriptions/s/resourcegroups/rg/providers/microsoft.network/virtualnetworks/v", true},
		{"virtualNetworks/*", "/subscriptions/s/resourcegroups/rg/providers/microsoft.network/virtualnetworks/v/subnets/a", false},
		{"Networks/*", "/subscriptions/s/providers/virtualnetworks/v", false},
		{"/subscriptions/*", "/subscriptions/s", true},
		{"/subscriptions/*", "/subscriptions/s/resourcegroups", false},
		{"/subscriptions/**", "/subscriptions/s/resourcegroups", true},
		{"a.c", "/abc", false},
		{"regexp:resourceGroups/rg[12]$", "/subscriptions/s/resourcegroups/rg2", true},
		{"regexp:resourceGroups/rg[12]$", "/subscriptions/s/resourcegroups/rg3", false},
	} {
		re, err := compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := re.MatchString(c.path); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
}

func TestSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		rule                  Rule
		plane, method, target string
		hit                   bool
	}{
		"everything":           {Rule{}, Graph, "GET", "/x", true},
		"plane":                {Rule{Plane: ARM}, ARM, "GET", "/x", true},
		"other plane":          {Rule{Plane: ARM}, Blob, "GET", "/x", false},
		"method":               {Rule{Method: "put, patch"}, ARM, "PATCH", "/x", true},
		"other method":         {Rule{Method: "PUT"}, ARM, "GET", "/x", false},
		"creation":             {Rule{Create: true}, ARM, "PUT", "/new", true},
		"no creation":          {Rule{Create: true}, ARM, "PUT", "/there", false},
		"account of a blob":    {Rule{Path: "/acct/c/*"}, Blob, "GET", "https://Acct.blob.core.windows.net/c/b", true},
		"principal of a token": {Rule{Principal: "APP"}, ARM, "GET", "/token", true},
		"other principal":      {Rule{Principal: "other"}, ARM, "GET", "/token", false},
		"nobody":               {Rule{Principal: "app"}, ARM, "GET", "/x", false},
	} {
		t.Run(name, func(t *testing.T) {
			i := open(t, filepath.Join(t.TempDir(), "f"))
			c.rule.Status = 418
			add(t, i, c.rule)
			r := httptest.NewRequest(c.method, c.target, nil)
			if c.target == "/token" {
				r.Header.Set("Authorization", "Bearer h.eyJhcHBpZCI6ImFwcCIsIm9pZCI6Im9iaiJ9.s") // {"appid":"app","oid":"obj"}
			}
			w := httptest.NewRecorder()
			i.Wrap(c.plane, http.NotFoundHandler()).ServeHTTP(w, r)
			if (w.Code == 418) != c.hit {
				t.Errorf("answered %d", w.Code)
			}
		})
	}
}

// hits tells which of n requests a rule hits.
func hits(i *Injector, n int) string {
	out := ""
	for range n {
		out += map[bool]string{true: "x", false: "-"}[send(i, ARM, "GET", "/x") == 503]
	}
	return out
}

func TestSeed(t *testing.T) {
	rule := Rule{Status: 503, Chance: 0.3, Seed: 7}
	dir := t.TempDir()
	one := open(t, filepath.Join(dir, "one"))
	add(t, one, rule)
	want := hits(one, 200)
	if n := strings.Count(want, "x"); n < 40 || n > 80 {
		t.Errorf("%d of 200 with probability 0.3", n)
	}
	two := open(t, filepath.Join(dir, "two"))
	add(t, two, rule)
	got := hits(two, 100)
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if got += hits(open(t, filepath.Join(dir, "two")), 100); got != want {
		t.Error("the same seed gives other hits, or a restart begins anew")
	}
	rule.Seed = 8
	three := open(t, filepath.Join(dir, "three"))
	add(t, three, rule)
	if hits(three, 200) == want {
		t.Error("another seed gives the same hits")
	}
}

func TestCountAndOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.json")
	i := open(t, file)
	added := add(t, i, Rule{Status: 500, Count: 2}, Rule{Status: 503, Count: 2}, Rule{Reset: Before, Count: 1})
	if added[0].ID != "f1" || added[2].ID != "f3" {
		t.Errorf("ids %v", added)
	}
	var got []int
	for n := range 6 {
		if n == 3 { // killed: the counts of rules with an end are on disk
			i = open(t, file)
		}
		got = append(got, send(i, ARM, "GET", "/x"))
	}
	if want := []int{500, 500, 503, 503, 0, 200}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if l := i.List(); l[0].Fired != 2 || l[1].Fired != 2 || l[2].Fired != 1 {
		t.Errorf("hits %+v", l)
	}
	if err := i.Clear("f9"); !errors.Is(err, ErrUnknown) {
		t.Errorf("clearing nothing: %v", err)
	}
	if err := i.Clear("f2"); err != nil || len(i.List()) != 2 {
		t.Errorf("%v %v", err, i.List())
	}
	if err := i.Clear(); err != nil || len(i.List()) != 0 {
		t.Errorf("%v %v", err, i.List())
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file without faults is left")
	}
}

func TestInvalidRules(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	for name, r := range map[string]Rule{
		"nothing": {}, "a success": {Status: 200}, "plane": {Plane: "dns", Status: 500}, "method": {Method: "PULL", Status: 500},
		"pattern": {Path: "regexp:(", Status: 500}, "probability": {Status: 500, Chance: 2}, "preset": {Preset: "bad-luck"},
		"counted delay": {Preset: "role-delay", Count: 1}, "delay without time": {Propagate: Role}, "clock of one": {Clock: 1, Path: "x"},
		"two endings": {Status: 500, Reset: Before}, "pages of blobs": {Plane: Blob, PageSize: 2}, "two kinds": {Latency: 1, Operation: OperationFail},
		"nothing to retry": {Latency: 1, RetryAfter: 1}, "negative": {Latency: -1}, "bad reset": {Reset: "sometimes"},
	} {
		if _, err := i.Add(Rule{Status: 500}, r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	add(t, i, Rule{ID: "mine", Status: 500})
	if _, err := i.Add(Rule{ID: "mine", Status: 500}); err == nil {
		t.Error("an id is taken twice")
	}
	if l := i.List(); len(l) != 1 {
		t.Errorf("a refused set left rules: %+v", l)
	}
}

func TestPresetsAreValid(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	for _, name := range slices.Sorted(maps.Keys(Presets())) {
		r := add(t, i, Rule{Preset: name})[0]
		if r.Effect() == "" || Presets()[name].Summary == "" {
			t.Errorf("%s says nothing", name)
		}
	}
	r := add(t, i, Rule{Preset: "throttled", RetryAfter: Duration(3 * time.Second), Plane: Graph, Chance: 0.5})[0]
	if r.Status != 429 || r.RetryAfter != Duration(3*time.Second) || r.Plane != Graph || r.Seed != 1 {
		t.Errorf("a changed preset: %+v", r)
	}
}

func TestErrorForms(t *testing.T) {
	for plane, want := range map[string]string{
		ARM:   `{"error":{"code":"Busy","message":"Wait <a> bit."}}`,
		Blob:  `<?xml version="1.0" encoding="utf-8"?><Error><Code>Busy</Code><Message>Wait &lt;a&gt; bit.</Message></Error>`,
		Entra: `{"error":"Busy","error_description":"Wait <a> bit."}`,
	} {
		i := open(t, filepath.Join(t.TempDir(), "f"))
		add(t, i, Rule{Status: 429, Code: "Busy", Message: "Wait <a> bit.", RetryAfter: Duration(1500 * time.Millisecond)})
		w := httptest.NewRecorder()
		i.Wrap(plane, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
		body := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(strings.TrimSpace(w.Body.String()))
		if w.Code != 429 || body != want {
			t.Errorf("%s: %d %s", plane, w.Code, body)
		}
		if w.Header().Get("Retry-After") != "2" || w.Header().Get("Retry-After-Ms") != "1500" {
			t.Errorf("%s: %v", plane, w.Header())
		}
	}
	w := httptest.NewRecorder()
	refuse(Entra, w, httptest.NewRequest("POST", "/t", nil), &Rule{Status: 400, Code: "AADSTS700016", Message: "no"})
	var e struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
		Codes       []int  `json:"error_codes"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error != "invalid_client" || !strings.HasPrefix(e.Description, "AADSTS700016: no") || e.Codes[0] != 700016 {
		t.Errorf("%s %v", w.Body, err)
	}
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.json")
	for _, text := range []string{"{", `{"rules":[{"pathh":"x","status":500}]}`, `{"rules":[{"status":200}]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file, nil, nil); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := os.WriteFile(file, []byte(`{"rules":[{"preset":"principal-not-found","seconds":7}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := open(t, file).List(); len(l) != 1 || l[0].Propagate != Identity || l[0].Seconds != 7 {
		t.Errorf("from a file: %+v", l)
	}
}

func TestAdminAPI(t *testing.T) {
	i := open(t, filepath.Join(t.TempDir(), "f"))
	mux := http.NewServeMux()
	i.Register(mux)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/faults", `{"rules":[{"preset":"reset"},{"id":"slow","latency":"20ms"}]}`, 201},
		{"POST", "/faults", `{"rules":[{"stauts":500}]}`, 400},
		{"POST", "/faults", `{"rules":[{"status":200}]}`, 400},
		{"GET", "/faults", "", 200},
		{"DELETE", "/faults/none", "", 404},
		{"DELETE", "/faults/slow", "", 204},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, w.Body)
		}
	}
	if l := i.List(); len(l) != 1 || l[0].Preset != "reset" {
		t.Errorf("left: %+v", l)
	}
}

func TestChangeCase(t *testing.T) {
	in := map[string]any{"id": "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/Net/subnets/A",
		"list": []any{map[string]any{"x": "/subscriptions/s/resourceGroups/rg"}}, "other": "/subscriptions/s"}
	got := fmt.Sprint(changeCase(in))
	want := "map[id:/subscriptions/s/resourcegroups/RG/providers/microsoft.network/virtualnetworks/Net/subnets/A list:[map[x:/subscriptions/s/resourcegroups/RG]] other:/subscriptions/s]"
	if got != want {
		t.Errorf("got %s", got)
	}
}
