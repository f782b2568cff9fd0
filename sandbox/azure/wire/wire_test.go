package wire

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"
)

func parse(t *testing.T, text string) Doc {
	t.Helper()
	d := Doc{}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// A PATCH is a JSON merge patch (RFC 7396), but tags are replaced as a whole, as the resource manager does.
func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ before, patch, after string }{
		"a new member":                 {`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		"another value":                {`{"a":1}`, `{"a":"x"}`, `{"a":"x"}`},
		"null removes":                 {`{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
		"null of what is not there":    {`{"a":1}`, `{"b":null}`, `{"a":1}`},
		"deep inside":                  {`{"p":{"a":{"x":1,"y":2},"b":3}}`, `{"p":{"a":{"y":null,"z":4}}}`, `{"p":{"a":{"x":1,"z":4},"b":3}}`},
		"a list is replaced":           {`{"l":[1,2]}`, `{"l":[3]}`, `{"l":[3]}`},
		"an object for a value":        {`{"a":1}`, `{"a":{"b":2}}`, `{"a":{"b":2}}`},
		"a value for an object":        {`{"a":{"b":2}}`, `{"a":1}`, `{"a":1}`},
		"null in a new object":         {`{}`, `{"a":{"b":null,"c":{"d":null}}}`, `{"a":{"c":{}}}`},
		"tags as a whole":              {`{"tags":{"a":"1","b":"2"}}`, `{"tags":{"c":"3"}}`, `{"tags":{"c":"3"}}`},
		"tags that are not mentioned":  {`{"tags":{"a":"1"}}`, `{"properties":{}}`, `{"properties":{},"tags":{"a":"1"}}`},
		"an empty patch":               {`{"a":{"b":1}}`, `{}`, `{"a":{"b":1}}`},
		"an empty object leaves it be": {`{"a":{"b":1}}`, `{"a":{}}`, `{"a":{"b":1}}`},
	} {
		d := parse(t, c.before)
		Merge(d, parse(t, c.patch))
		if got, err := json.Marshal(d); err != nil || string(got) != c.after {
			t.Errorf("%s: %s, want %s", name, got, c.after)
		}
	}
}

func TestMembers(t *testing.T) {
	d := parse(t, `{"text":"t","number":7.9,"list":["a",1,{"b":2}],"sub":{"id":"/x"},"null":null,"time":"2026-01-02T03:04:05Z"}`)
	if Text(d, "text") != "t" || Text(d, "number") != "" || Text(d, "none") != "" || Number(d, "number") != 7 || Number(d, "text") != 0 {
		t.Error("texts and numbers")
	}
	if len(List(d, "list")) != 3 || len(Docs(d, "list")) != 1 || len(Texts(d, "list")) != 1 || List(d, "sub") != nil {
		t.Error("lists, and what in them is of one kind")
	}
	if Ref(d, "sub") != "/x" || Ref(d, "none") != "" || len(Props(d)) != 0 || d["properties"] != nil {
		t.Error("looking at what is not there makes it")
	}
	EnsureProps(d)["a"] = 1
	if Props(d)["a"] != 1 {
		t.Error("what EnsureProps adds is not there")
	}
	Default(d, "text", "other")
	Default(d, "null", "given")
	if d["text"] != "t" || d["null"] != "given" {
		t.Errorf("defaults: %v", d)
	}
	if want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); !Time(d, "time").Equal(want) || !Time(d, "text").IsZero() || !Time(d, "none").IsZero() {
		t.Error("times")
	}
	first, again := Doc{}, Doc{}
	Stamp(first, nil)
	Stamp(again, first)
	if Created(first).IsZero() || !Created(again).Equal(Created(first)) || !Created(Doc{}).IsZero() {
		t.Error("a resource that is written again is as old as it was")
	}
}

func TestBearer(t *testing.T) {
	for header, token := range map[string]string{"Bearer abc": "abc", "bearer abc": "abc", "BEARER  abc ": "abc", "Bearer ": "", "Basic abc": "-",
		"Bearer": "-", "Bearerabc": "-", "": "-"} {
		r := httptest.NewRequest("GET", "https://x/", nil)
		r.Header.Set("Authorization", header)
		if got, ok := Bearer(r); ok != (token != "-") || ok && got != token {
			t.Errorf("%q: %q %v", header, got, ok)
		}
	}
}
