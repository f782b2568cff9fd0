package arm

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func TestStrictJSON(t *testing.T) {
	for text, want := range map[string]wire.Doc{
		`{properties: {"a": "b, c: // d", template:{$schema:"x"}}}`:  {"properties": wire.Doc{"a": "b, c: // d", "template": wire.Doc{"$schema": "x"}}},
		"{// one\n\"a\": /* two\n: */ -1.5e3, \"b\": [true, null] }": {"a": -1500.0, "b": []any{true, nil}},
		`{"a\"b: c": "\\"}`: {`a"b: c`: `\`},
	} {
		var got wire.Doc
		if err := json.Unmarshal(strictJSON([]byte(text)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s gave %v, %v (%s)", text, got, err, strictJSON([]byte(text)))
		}
	}
}

func FuzzStrictJSON(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"x: //",null]}}`))
	f.Add([]byte("{a:1/*"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after any
		if json.Unmarshal(data, &before) != nil {
			strictJSON(data)
			return
		}
		if err := json.Unmarshal(strictJSON(data), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", data, strictJSON(data))
		}
	})
}
