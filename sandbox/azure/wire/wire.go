// Package wire holds the few helpers that every plane of the embedded Azure needs to read documents and answer requests.
package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// Doc is a JSON object.
type Doc = store.Doc

// What Azure has and the embedded one does not is refused everywhere with this status, which no client tries again, and this code.
const (
	NotServedStatus = http.StatusNotImplemented
	NotServedCode   = "NotServedBySandbox"
)

// NotServed is the one sentence of such a refusal.
func NotServed(what string) string {
	return what + " is not served by the embedded Azure of the sandbox: nothing was changed, and only Azure itself can answer."
}

// JSON answers with a document.
func JSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Props returns the member "properties", an empty object when there is none. To change it use EnsureProps.
func Props(d Doc) Doc { return Sub(d, "properties") }

// EnsureProps returns the member "properties", adding it.
func EnsureProps(d Doc) Doc {
	p, ok := d["properties"].(Doc)
	if !ok {
		p = Doc{}
		d["properties"] = p
	}
	return p
}

// Sub returns an object member, never nil.
func Sub(d Doc, key string) Doc {
	if s, ok := d[key].(Doc); ok {
		return s
	}
	return Doc{}
}

// Text returns a string member, "" when absent.
func Text(d Doc, key string) string {
	s, _ := d[key].(string)
	return s
}

// Number returns a numeric member as an int, 0 when absent.
func Number(d Doc, key string) int {
	switch n := d[key].(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

// List returns an array member.
func List(d Doc, key string) []any {
	l, _ := d[key].([]any)
	return l
}

// Docs returns the objects of an array member.
func Docs(d Doc, key string) []Doc {
	var out []Doc
	for _, e := range List(d, key) {
		if s, ok := e.(Doc); ok {
			out = append(out, s)
		}
	}
	return out
}

// Texts returns the strings of an array member.
func Texts(d Doc, key string) []string {
	var out []string
	for _, e := range List(d, key) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Ref returns the id inside a reference such as {"subnet": {"id": ...}}.
func Ref(d Doc, key string) string { return Text(Sub(d, key), "id") }

// Default sets a member that is missing or null.
func Default(d Doc, key string, v any) {
	if d[key] == nil {
		d[key] = v
	}
}

// Merge applies a JSON merge patch; tags are replaced as a whole, as Azure does.
func Merge(dst, patch Doc) {
	for k, v := range patch {
		if v == nil {
			delete(dst, k)
			continue
		}
		from, isDoc := v.(Doc)
		into, hasDoc := dst[k].(Doc)
		if isDoc && k != "tags" {
			if !hasDoc { // what the patch empties is not there either way
				into = Doc{}
				dst[k] = into
			}
			Merge(into, from)
			continue
		}
		dst[k] = v
	}
}

// Stamp notes when a resource was created, old being what it was before.
func Stamp(d, old Doc) {
	if s := Sub(old, "systemData"); s["createdAt"] != nil {
		d["systemData"] = s
		return
	}
	d["systemData"] = Doc{"createdAt": time.Now().UTC().Format(time.RFC3339Nano)}
}

// Created is when a resource was created, the zero time when nobody noted it.
func Created(d Doc) time.Time { return Time(Sub(d, "systemData"), "createdAt") }

// Time returns a member that is a time, the zero time when absent.
func Time(d Doc, key string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, Text(d, key))
	if err != nil {
		return time.Time{}
	}
	return t
}

// Bearer returns the token of the Authorization header.
func Bearer(r *http.Request) (string, bool) {
	h := r.Header.Get("Authorization")
	if len(h) < 7 || !strings.EqualFold(h[:7], "Bearer ") {
		return "", false
	}
	return strings.TrimSpace(h[7:]), true
}
