package fault

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// regexpPrefix marks a pattern that is a regular expression.
const regexpPrefix = "regexp:"

// compile reads a pattern for lower-cased paths: * is any text without a slash, ** any text. Without a leading slash the pattern may begin at
// any segment. With "regexp:" in front it is a regular expression that matches anywhere.
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if expression, ok := strings.CutPrefix(pattern, regexpPrefix); ok {
		re, err := regexp.Compile("(?i)" + expression)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", pattern, err)
		}
		return re, nil
	}
	text := regexp.QuoteMeta(strings.ToLower(strings.TrimRight(pattern, "/")))
	text = strings.ReplaceAll(text, `\*\*`, ".*")
	text = strings.ReplaceAll(text, `\*`, "[^/]*")
	if !strings.HasPrefix(pattern, "/") {
		text = "(.*/)?" + text
	}
	return regexp.Compile("^" + text + "$")
}

// request is what rules look at.
type request struct {
	plane, method, path string
	principals          []string
	creates             bool
}

func (s *state) matches(q *request) bool {
	return !s.exhausted() && s.Clock == 0 && (s.Plane == "" || s.Plane == q.plane) &&
		(s.allowed == nil || slices.Contains(s.allowed, q.method)) &&
		(s.pattern == nil || s.pattern.MatchString(q.path)) &&
		(s.Principal == "" || slices.ContainsFunc(q.principals, func(p string) bool { return strings.EqualFold(p, s.Principal) })) &&
		(!s.Create || q.creates)
}

// describe reads a request without consuming it. The path of a blob begins with its account, that of a key with its vault.
func describe(plane string, r *http.Request) *request {
	q := &request{plane: plane, method: r.Method, path: strings.ToLower(strings.TrimRight(r.URL.Path, "/"))}
	if plane == Blob || plane == Vault {
		account, _, _ := strings.Cut(strings.ToLower(r.Host), ".")
		q.path = "/" + account + q.path
	}
	if plane == Entra {
		if form, err := url.ParseQuery(string(peekBody(r))); err == nil {
			q.principals = []string{form.Get("client_id")}
		}
	} else {
		q.principals = tokenPrincipals(r)
	}
	return q
}

// maxPeek is the largest body that is looked at.
const maxPeek = 8 << 20

// peekBody reads a body and puts it back.
func peekBody(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxPeek))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), failing{err}, r.Body), r.Body}
	return data
}

// failing gives back the error that reading ended with.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// tokenPrincipals reads who a token names. The plane verifies it; here it only chooses faults.
func tokenPrincipals(r *http.Request) []string {
	raw, _ := wire.Bearer(r)
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims wire.Doc
	if json.Unmarshal(data, &claims) != nil {
		return nil
	}
	return []string{wire.Text(claims, "appid"), wire.Text(claims, "oid")}
}
