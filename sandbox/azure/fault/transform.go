package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// page is one page of a list.
type page struct{ size, skip int }

const tokenParameter = "$skiptoken"

// pageOf reads the page that a nextLink of ours asks for, also when the rule is gone meanwhile, or the first one of a size.
func pageOf(r *http.Request, size int) (page, bool) {
	if r.Method != http.MethodGet {
		return page{}, false
	}
	var p page
	if _, err := fmt.Sscanf(r.URL.Query().Get(tokenParameter), "sandbox-%d-%d", &p.size, &p.skip); err == nil && p.size > 0 && p.skip >= 0 {
		return p, true
	}
	return page{size: size}, size > 0
}

// LaterPage tells whether a request is for a page that NextLink names.
func LaterPage(r *http.Request) bool {
	p, ok := pageOf(r, 0)
	return ok && p.skip > 0
}

// NextLink is the address of the page of a list that begins after some entries. Wrap serves it whether or not a rule is in force.
func NextLink(r *http.Request, size, after int) string {
	u := *r.URL
	u.Scheme, u.Host = "https", r.Host
	values := u.Query()
	values.Del("$top") // the token has the size
	values.Set(tokenParameter, fmt.Sprintf("sandbox-%d-%d", size, after))
	u.RawQuery = values.Encode()
	return u.String()
}

// cut leaves one page of a list and says where the next one is.
func (r *recorder) cut(plane string, q *http.Request, p page) {
	doc, ok := r.document()
	list, isList := doc["value"].([]any)
	if !ok || !isList {
		return
	}
	from := min(p.skip, len(list))
	to := min(from+p.size, len(list))
	doc["value"] = list[from:to]
	if to < len(list) {
		link := "nextLink"
		if plane == Graph {
			link = "@odata.nextLink"
		}
		doc[link] = NextLink(q, p.size, to)
	}
	r.replace(doc)
}

func (r *recorder) changeCase() {
	if doc, ok := r.document(); ok {
		r.replace(changeCase(doc).(map[string]any))
	}
}

// changeCase spells ids as some of Azure's services do: fixed segments and types in lower case, the group's name in upper case.
func changeCase(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = changeCase(v[k])
		}
	case []any:
		for n := range v {
			v[n] = changeCase(v[n])
		}
	case string:
		segs := strings.Split(v, "/")
		if len(segs) < 5 || segs[0] != "" || segs[1] != "subscriptions" || segs[3] != "resourceGroups" {
			return v
		}
		segs[3], segs[4] = "resourcegroups", strings.ToUpper(segs[4])
		for n := 5; n < len(segs); n++ {
			if n%2 == 1 || n == 6 { // "providers", its namespace, and every type
				segs[n] = strings.ToLower(segs[n])
			}
		}
		return strings.Join(segs, "/")
	}
	return v
}

// document reads a successful answer that is a JSON object.
func (r *recorder) document() (map[string]any, bool) {
	var doc map[string]any
	if r.status >= http.StatusMultipleChoices || json.Unmarshal(r.body.Bytes(), &doc) != nil || doc == nil {
		return nil, false
	}
	return doc, true
}

func (r *recorder) replace(doc map[string]any) {
	var body bytes.Buffer
	if json.NewEncoder(&body).Encode(doc) == nil {
		r.body = body
	}
}
