// Package statuscodes holds the answers of the embedded resource manager against what Azure's SDKs accept. Only tests need it.
package statuscodes

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

//go:generate go run generate.go

//go:embed table.txt
var text string

// operation is a line of the table.
type operation struct {
	method string
	path   []string // * is one segment, ** any number
	codes  string
}

var table = sync.OnceValue(func() []operation {
	var out []operation
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] != "#" {
			out = append(out, operation{f[0], segments(f[1]), "," + f[2] + ","})
		}
	}
	return out
})

func segments(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

func fits(pattern, segs []string) bool {
	if len(pattern) == 0 {
		return len(segs) == 0
	}
	if pattern[0] == "**" {
		for i := 1; i <= len(segs); i++ {
			if fits(pattern[1:], segs[i:]) {
				return true
			}
		}
		return false
	}
	return len(segs) > 0 && (pattern[0] == "*" || pattern[0] == segs[0]) && fits(pattern[1:], segs[1:])
}

// Replay reads an access log and says which successful answers of the resource manager no SDK would take. Checked counts those it looked at.
func Replay(accessLog io.Reader) (refused []string, checked int, err error) {
	lines := bufio.NewScanner(accessLog)
	lines.Buffer(nil, 1<<20)
	seen := map[string]bool{}
	for lines.Scan() {
		var e access.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, checked, fmt.Errorf("the access log: %w", err)
		}
		if e.Plane != fault.ARM || e.Status == 0 || e.Status >= 300 {
			continue
		}
		u, err := url.Parse(e.URL)
		if err != nil {
			return nil, checked, fmt.Errorf("the access log: %w", err)
		}
		path := strings.ToLower(u.Path)
		if strings.Contains(path, "/operation") || strings.HasPrefix(path, "/metadata/") { // polls, and what is no resource
			continue
		}
		checked++
		if problem := check(e.Method, path, e.Status); problem != "" && !seen[problem] {
			seen[problem] = true
			refused = append(refused, problem)
		}
	}
	return refused, checked, lines.Err()
}

// check is "" for an answer that some SDK takes.
func check(method, path string, status int) string {
	known := false
	segs := segments(path)
	for _, o := range table() {
		if o.method == method && fits(o.path, segs) {
			known = true
			if strings.Contains(o.codes, ","+strconv.Itoa(status)+",") {
				return ""
			}
		}
	}
	if !known {
		return fmt.Sprintf("no operation of the SDKs is %s %s", method, path)
	}
	return fmt.Sprintf("%s %s was answered %d, which the SDKs refuse", method, path, status)
}
