package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// journey is the access log of one side, which begins where an earlier one ended.
type journey []access.Entry

// calls reads what has been asked since skip entries were there.
func (w *world) calls(skip int) (journey, error) {
	f, err := os.Open(w.path("azure/access.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all journey
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e access.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("access log: %w", err)
		}
		all = append(all, e)
	}
	all = all[skip:]
	slices.SortFunc(all, func(a, b access.Entry) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// writes are the calls that change something; to ask for a token changes nothing.
func (j journey) writes() []string {
	var out []string
	for _, e := range j {
		if e.Plane != fault.Entra && e.Method != http.MethodGet && e.Method != http.MethodHead {
			out = append(out, e.Method+" "+e.URL)
		}
	}
	return out
}

// find is the first answer to a call that came after a time and met the pattern.
func (j journey) find(after time.Time, c call) (access.Entry, bool) {
	for _, e := range j {
		u, err := url.Parse(e.URL)
		if err == nil && !e.Time.Before(after) && e.Method == c.method && e.Status < http.StatusMultipleChoices && c.at(u) {
			return e, true
		}
	}
	return access.Entry{}, false
}

func end(e access.Entry) time.Time {
	return e.Time.Add(time.Duration(e.Millis * float64(time.Millisecond)))
}

// at tells whether the call goes to the address.
func (c call) at(u *url.URL) bool {
	return strings.HasSuffix(strings.ToLower(u.Path), strings.ToLower(c.path)) ||
		strings.HasSuffix(c.path, "/*") && strings.Contains(strings.ToLower(u.Path), strings.ToLower(strings.TrimSuffix(c.path, "*")))
}
