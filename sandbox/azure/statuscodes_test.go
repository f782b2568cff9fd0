package azure_test

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

//go:generate go run statuscodes/generate.go

// route is a line of the table.
type route struct {
	method string
	segs   []string
	codes  string
}

var table = sync.OnceValue(func() []route {
	data, err := os.ReadFile("testdata/statuscodes.txt")
	if err != nil {
		panic(err)
	}
	var out []route
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] != "#" {
			out = append(out, route{f[0], strings.Split(strings.Trim(f[1], "/"), "/"), "," + f[2] + ","})
		}
	}
	return out
})

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

// checkStatusCodes holds every successful answer of the resource manager against what the SDKs accept.
func (s *sandbox) checkStatusCodes(t *testing.T) {
	f, err := os.Open(filepath.Join(s.cfg.Dir, "access.log"))
	must(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e access.Entry
		must(t, json.Unmarshal(lines.Bytes(), &e))
		if e.Plane != "arm" || e.Status == 0 || e.Status >= 300 {
			continue
		}
		u, err := url.Parse(e.URL)
		must(t, err)
		path := strings.ToLower(u.Path)
		if strings.Contains(path, "/operation") || strings.HasPrefix(path, "/metadata/") {
			continue
		}
		checkStatus(t, e, strings.Split(strings.Trim(path, "/"), "/"))
	}
	must(t, lines.Err())
}

func checkStatus(t *testing.T, e access.Entry, segs []string) {
	t.Helper()
	known := false
	for _, r := range table() {
		if r.method == e.Method && fits(r.segs, segs) {
			known = true
			if strings.Contains(r.codes, ","+strconv.Itoa(e.Status)+",") {
				return
			}
		}
	}
	if !known {
		t.Errorf("no operation of the SDK is %s %s", e.Method, e.URL)
		return
	}
	t.Errorf("%s %s was answered %d, which the SDK refuses", e.Method, e.URL, e.Status)
}

func TestTableKnowsRefusedCodes(t *testing.T) {
	segs := strings.Split("subscriptions/s/resourcegroups/rg/providers/microsoft.storage/storageaccounts/acct", "/")
	for _, r := range table() {
		if r.method == "PUT" && fits(r.segs, segs) {
			if strings.Contains(r.codes, ",201,") {
				t.Error("the table lets a storage account be answered 201")
			}
			return
		}
	}
	t.Error("the table has no storage accounts")
}
