package azure_test

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

// answer is what a client without a library sees.
type answer struct {
	status int
	code   string // of the error
	header http.Header
	text   string
	body   map[string]any
}

// call sends a request to the resource manager as the user.
func (s *sandbox) call(method, path, body string, header ...string) answer {
	s.t.Helper()
	tok, err := s.user().GetToken(s.t.Context(), managementScope())
	must(s.t, err)
	return s.request(method, "https://management.azure.com"+withVersion(path), body, append([]string{"Authorization", "Bearer " + tok.Token}, header...)...)
}

// all is a list with all of its pages.
func (s *sandbox) all(path string) answer {
	s.t.Helper()
	out := s.call("GET", path, "")
	list, _ := out.body["value"].([]any)
	for next := out; ; {
		link, _ := next.body["nextLink"].(string)
		if link == "" {
			break
		}
		next = s.good("GET", strings.TrimPrefix(link, "https://management.azure.com"), "")
		more, _ := next.body["value"].([]any)
		if len(more) == 0 {
			s.t.Errorf("%s: the page %s is empty", path, link)
		}
		list, out.text = append(list, more...), out.text+next.text
	}
	if out.body != nil {
		out.body["value"] = list
	}
	return out
}

// withVersion adds the newest api-version whose documents are known, unless the path names one.
func withVersion(path string) string {
	bare, query, _ := strings.Cut(path, "?")
	if strings.Contains(query, "api-version=") {
		return path
	}
	version := "2021-04-01"
	if p, err := provider.ParsePath(strings.ReplaceAll(bare, "//", "/")); err == nil {
		version = cmp.Or(schema.Newest(p.Type), version)
	}
	if strings.Contains(path, "?") {
		return path + "&api-version=" + version
	}
	return path + "?api-version=" + version
}

// request sends a request as it is; header alternates names and values.
func (s *sandbox) request(method, address, body string, header ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	must(s.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.http.Do(req)
	must(s.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(s.t, err)
	out := answer{status: resp.StatusCode, header: resp.Header, text: string(data)}
	_ = json.Unmarshal(data, &out.body)
	if e, ok := out.body["error"].(map[string]any); ok {
		out.code, _ = e["code"].(string)
	}
	return out
}
