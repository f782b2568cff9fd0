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

// set makes the Route claim the host name and no other. It returns the other claimants of the host names that this changes.
func (t *Table) set(route types.NamespacedName, host string, target Target) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	rivals := t.drop(route, host)
	claims := slices.DeleteFunc(slices.Clone(t.claims[host]), func(c claim) bool { return c.route == route })
	rivals = append(rivals, routes(claims)...)
	claims = append(claims, claim{route, target})
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(a.target.created.Compare(b.target.created), cmp.Compare(a.route.String(), b.route.String()))
	})
	t.claims[host] = claims
	return rivals
}

// remove forgets the Route. It returns the other claimants of its host names.
func (t *Table) remove(route types.NamespacedName) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drop(route, "")
}

// drop removes the Route's claims but one.
func (t *Table) drop(route types.NamespacedName, but string) []types.NamespacedName {
	var rivals []types.NamespacedName
	for host, claims := range t.claims {
		left := slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.route == route })
		if host == but || len(left) == len(claims) {
			continue
		}
		rivals = append(rivals, routes(left)...)
		t.claims[host] = left
		if len(left) == 0 {
			delete(t.claims, host)
		}
	}
	return rivals
}

func routes(claims []claim) []types.NamespacedName {
	var out []types.NamespacedName
	for _, c := range claims {
		out = append(out, c.route)
	}
	return out
}

// has tells whether the host name is the Route's.
func (t *Table) has(route types.NamespacedName, host string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	claims := t.claims[host]
	return len(claims) > 0 && claims[0].route == route
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
