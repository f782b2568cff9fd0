// Package calls tells from the access log of the embedded Azure what was written, by whom, and for which reasons that no imitation can
// know the real Azure may refuse it: quota, capacity, policy, terms, names of other customers.
package calls

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

// Call is a kind of write, and how often it was made.
type Call struct {
	Client   string    `json:"client"` // see access.ClientOf
	Method   string    `json:"method"`
	Type     string    `json:"type"` // of the resource, or the plane and what it was asked for, such as entra/token
	Count    int       `json:"count"`
	Refusals []Refusal `json:"refusals,omitempty"` // what real Azure may answer for its own reasons
}

// kind is what makes calls one.
type kind struct{ client, method, name string }

// Read counts the writes of an access log that were accepted, and what tokens were asked for. They are sorted by type.
func Read(accessLog io.Reader) ([]Call, error) {
	lines := bufio.NewScanner(accessLog)
	lines.Buffer(nil, 4<<20)
	count := map[kind]int{}
	for lines.Scan() {
		var e access.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("the access log: %w", err)
		}
		if e.Method == http.MethodGet || e.Method == http.MethodHead || e.Status == 0 || e.Status >= http.StatusBadRequest {
			continue
		}
		name, err := nameOf(e)
		if err != nil {
			return nil, fmt.Errorf("the access log: %w", err)
		}
		count[kind{access.ClientOf(e.UserAgent), e.Method, name}]++
	}
	out := make([]Call, 0, len(count))
	for k, n := range count {
		out = append(out, Call{Client: k.client, Method: k.method, Type: k.name, Count: n, Refusals: refusalsOf(k.method, k.name)})
	}
	slices.SortFunc(out, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Client, b.Client))
	})
	return out, lines.Err()
}

// nameOf is the type of the resource that a request is for; of other planes than the resource manager's, the plane and its collection.
func nameOf(e access.Entry) (string, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return "", err
	}
	switch e.Plane {
	case "arm":
		return typeOf(u.Path), nil
	case "entra":
		return "entra/token", nil
	case "graph":
		segments := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(segments) > 1 { // v1.0/applications/…
			name, _, _ := strings.Cut(segments[1], "(")
			return "graph/" + name, nil
		}
	}
	return e.Plane, nil
}

// typeOf is the type of the last resource of a path: Microsoft.Network/virtualNetworks/subnets. An action belongs to its resource.
func typeOf(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if len(segments) == 5 && strings.EqualFold(segments[2], "providers") && segments[4] == "register" {
		return "Microsoft.Resources/providers"
	}
	last := -1
	for i, segment := range segments {
		if strings.EqualFold(segment, "providers") && i+2 < len(segments) {
			last = i
		}
	}
	switch {
	case last < 0 && len(segments) >= 4 && strings.EqualFold(segments[2], "resourceGroups"):
		return "Microsoft.Resources/resourceGroups"
	case last < 0:
		return "Microsoft.Resources/subscriptions"
	}
	name := segments[last+1]
	for i := last + 2; i < len(segments); i += 2 {
		if i+1 == len(segments) && i > last+2 { // an action, such as start
			break
		}
		name += "/" + segments[i]
	}
	return name
}
