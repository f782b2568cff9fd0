package node

import (
	"context"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// ScopeRights are the writes that a graph has for one scope.
type ScopeRights struct {
	// Scope is a resource group that exists, or the subscription for what is in none yet, by its ARM id.
	Scope string
	// Actions are all of them, Missing those that no role allows there or that a role's NotActions take away; both are sorted.
	Actions, Missing []string
	// Spreading: a role that was given a short time ago allows what is missing, and Azure does not know it everywhere yet.
	Spreading bool
	// Err is why Azure does not tell.
	Err error
}

// RightsOf asks, scope by scope, whether the credentials may make the graph: a run that would be refused half-way is known before. What stands
// already needs no right.
func RightsOf(ctx context.Context, s *azure.Session, nodes []*stack.Node) ([]ScopeRights, error) {
	findTheirs(ctx, nodes)
	look := rights{s: s, at: map[string]azure.Permissions{}}
	held, err := look.everyScope(ctx, nodes)
	if err != nil {
		return nil, err
	}
	roles, found := newSpreading(s, nodes), map[string]*ScopeRights{}
	for _, n := range nodes {
		action, group := writeAction(n), strings.ToLower(groupOf(n))
		if action == "" {
			continue
		}
		scope := "/subscriptions/" + s.SubscriptionID
		permissions, exists := held[group]
		if group == "" || !exists {
			permissions = held[""]
		} else {
			scope = s.GroupID(groupOf(n))
		}
		of := found[strings.ToLower(scope)]
		if of == nil {
			of = &ScopeRights{Scope: scope, Err: permissions.err}
			found[strings.ToLower(scope)] = of
		}
		of.add(ctx, n, action, permissions.of, roles)
	}
	return sorted(found), nil
}

// add counts a node's write.
func (r *ScopeRights) add(ctx context.Context, n *stack.Node, action string, held azure.Permissions, roles *spreading) {
	if !slices.Contains(r.Actions, action) {
		r.Actions = append(r.Actions, action)
	}
	if r.Err != nil || held.Allow(action) || slices.Contains(r.Missing, action) || stands(ctx, n) {
		return
	}
	spreads := roles.isSpreading(ctx, action, r.Scope)
	r.Spreading = spreads && (r.Spreading || len(r.Missing) == 0)
	r.Missing = append(r.Missing, action)
}

func sorted(found map[string]*ScopeRights) []ScopeRights {
	out := make([]ScopeRights, 0, len(found))
	for _, r := range found {
		sort.Strings(r.Actions)
		sort.Strings(r.Missing)
		out = append(out, *r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Scope < out[j].Scope })
	return out
}

// permissionsAt are the rights on a scope, or why Azure does not tell.
type permissionsAt struct {
	of  azure.Permissions
	err error
}

// everyScope asks for the subscription, under "", and for every group of the nodes that exists, at once; groups are in lower case. The error
// is that of a sign-in that fails.
func (r *rights) everyScope(ctx context.Context, nodes []*stack.Node) (map[string]permissionsAt, error) {
	groups, made := []string{""}, map[string]*stack.Node{}
	for _, n := range nodes {
		group := strings.ToLower(groupOf(n))
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		if writeAction(n) == writeGroup {
			made[group] = n
		}
	}
	var mu sync.Mutex
	out := map[string]permissionsAt{}
	all, ctx := errgroup.WithContext(ctx)
	for _, group := range groups {
		all.Go(func() error {
			if n := made[group]; n != nil && !stands(ctx, n) {
				return ctx.Err() // it is made first
			}
			at, exists := r.ask(ctx, group)
			mu.Lock()
			defer mu.Unlock()
			if exists {
				out[group] = at
			}
			if failure.IsSignIn(at.err) {
				return at.err
			}
			return ctx.Err()
		})
	}
	return out, all.Wait()
}

// ask is for one group, or the subscription under "", and tells whether it is there.
func (r *rights) ask(ctx context.Context, group string) (at permissionsAt, exists bool) {
	if group == "" {
		at.err = r.everywhere(ctx)
		at.of = r.all
		return at, true
	}
	at.of, at.err = r.s.Permissions(ctx, r.s.GroupID(group))
	return at, !failure.IsNotFound(at.err)
}
