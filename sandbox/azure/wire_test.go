package azure_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
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

func withVersion(path string) string {
	if strings.Contains(path, "?") {
		return path + "&api-version=2024-01-01"
	}
	return path + "?api-version=2024-01-01"
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
