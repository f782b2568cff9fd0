package router

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Target is the Service behind a Route.
type Target struct {
	Namespace, Service string
	// Port is the name or the number of a port of its pods; empty is their first.
	Port string

	created time.Time
}

// Table knows who claims a host name; the oldest claim has it.
type Table struct {
	mu     sync.RWMutex
	claims map[string][]claim
}

type claim struct {
	route  types.NamespacedName
	target Target
}

// NewTable is empty.
func NewTable() *Table { return &Table{claims: map[string][]claim{}} }

// set makes the Route claim the host name and no other, and tells whether it has it.
func (t *Table) set(route types.NamespacedName, host string, target Target) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(route)
	claims := append(slices.Clone(t.claims[host]), claim{route, target})
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(a.target.created.Compare(b.target.created), cmp.Compare(a.route.String(), b.route.String()))
	})
	t.claims[host] = claims
	return claims[0].route == route
}

func (t *Table) remove(route types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(route)
}

func (t *Table) drop(route types.NamespacedName) {
	for host, claims := range t.claims {
		if !slices.ContainsFunc(claims, func(c claim) bool { return c.route == route }) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.route == route })
		if len(left) == 0 {
			delete(t.claims, host)
			continue
		}
		t.claims[host] = left
	}
}

// claimants are all Routes that want the host name.
func (t *Table) claimants(host string) []types.NamespacedName {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var routes []types.NamespacedName
	for _, c := range t.claims[host] {
		routes = append(routes, c.route)
	}
	return routes
}

// lookup finds where connections for the host name go.
func (t *Table) lookup(host string) (Target, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if claims := t.claims[host]; len(claims) > 0 {
		return claims[0].target, true
	}
	return Target{}, false
}
