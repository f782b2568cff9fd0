package node

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const codeForbidden = "AuthorizationFailed"

// aRead stands for the right to read where no type of resource is known.
const aRead = "Microsoft.Resources/subscriptions/resourceGroups/read"

// spreading tells a role of the credentials that was given a short time ago, and is not known everywhere yet, from one that is missing: the
// first is on record as an assignment, with a role that allows what was refused. Where no right at all is to be seen, not even that of
// reading the record, nobody can tell.
type spreading struct {
	s      *azure.Session
	groups []string // that the nodes are in

	mu    sync.Mutex
	given []azure.Given
}

func newSpreading(s *azure.Session, nodes []*stack.Node) *spreading {
	p := &spreading{s: s}
	for _, n := range nodes {
		if group := groupOf(n); group != "" && !slices.Contains(p.groups, group) {
			p.groups = append(p.groups, group)
		}
	}
	return p
}

// explain is the error as one that passes where a role that was given a short time ago allows the action; every other error stays.
func (p *spreading) explain(ctx context.Context, err error, action, id string) error {
	if failure.CodeOf(err) != codeForbidden || !p.isSpreading(ctx, action, id) {
		return err
	}
	return failure.Spreading(err, "Azure refuses "+action+" to credentials that were given a role for it a short time ago, or shows no right of theirs at all")
}

func (p *spreading) isSpreading(ctx context.Context, action, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := time.Now().Add(-SpreadPatience)
	if len(p.given) == 0 {
		given, err := p.s.GivenSince(ctx, after)
		if err != nil {
			return failure.CodeOf(err) == codeForbidden && p.blind(ctx)
		}
		p.given = given
	}
	return slices.ContainsFunc(p.given, func(g azure.Given) bool { return g.At.After(after) && g.Allows(action, id) })
}

// blind tells that Azure shows no right of the credentials anywhere.
func (p *spreading) blind(ctx context.Context) bool {
	scopes := []string{"/subscriptions/" + p.s.SubscriptionID}
	for _, group := range p.groups {
		scopes = append(scopes, p.s.GroupID(group))
	}
	for _, scope := range scopes {
		seen, err := p.s.Permissions(ctx, scope)
		if len(seen) > 0 || err != nil && failure.CodeOf(err) != codeForbidden && !failure.IsNotFound(err) {
			return false
		}
	}
	return true
}

// patient has the looks and writes of the nodes wait for such a role.
func (p *spreading) patient(nodes []*stack.Node) {
	subscription := "/subscriptions/" + p.s.SubscriptionID
	for _, n := range nodes {
		look, write := n.Observe, n.Apply
		if look != nil {
			n.Observe = func(ctx context.Context) (stack.State, error) {
				state, err := look(ctx)
				return state, p.explain(ctx, err, aRead, subscription)
			}
		}
		action := writeAction(n)
		if action == "" {
			continue
		}
		n.Apply = func(ctx context.Context) error { return p.explain(ctx, write(ctx), action, n.Resource) }
	}
}
