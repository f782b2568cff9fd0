package node

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Guarded is the graph of a creation with what is asked before its first write: whether the region exists, whether the credentials may do
// all of it, and whether the subscription has the namespaces of resource providers that are written to, or that are named because somebody
// else will. fresh makes the same graph again, for a look that leaves the run's own nodes alone.
func Guarded(s *azure.Session, location string, nodes []*stack.Node, fresh func() []*stack.Node, namespaces ...string) []*stack.Node {
	roles := newSpreading(s, nodes)
	roles.patient(nodes)
	registered := &registration{s: s, namespaces: namespacesOf(nodes, namespaces)}
	nodes = append(nodes, regionNode(s, location), rightsNode(s, fresh, roles), registered.node())
	Gate(nodes)
	afterRegistration(nodes)
	return nodes
}

// regionNode refuses a region that the subscription does not have. Who may not list the regions learns it from the first write.
func regionNode(s *azure.Session, location string) *stack.Node {
	return &stack.Node{ID: "region", Kind: "region", Name: location, Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			names, err := s.Locations(ctx)
			if failure.IsNotFound(err) || failure.CodeOf(err) == codeForbidden {
				return stack.Current, nil
			}
			if err == nil && !slices.Contains(names, location) {
				err = unknownRegion(s, location, names)
			}
			return stack.Current, err
		}}
}

func unknownRegion(s *azure.Session, location string, names []string) error {
	short := strings.ToLower(strings.ReplaceAll(location, " ", ""))
	if slices.Contains(names, short) {
		return FieldLocation.Wrong("%q is written %s", location, short)
	}
	sort.Strings(names)
	return FieldLocation.Wrong("%q is no region of subscription %s; it has %s", location, s.SubscriptionID, strings.Join(names, ", "))
}

// rightsNode asks Azure what the credentials may do: a run that would be refused half-way does not begin.
func rightsNode(s *azure.Session, fresh func() []*stack.Node, roles *spreading) *stack.Node {
	return &stack.Node{ID: "rights", Kind: "rights", Name: "of the credentials", Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			return stack.Current, checkRights(ctx, s, fresh(), roles)
		}}
}

// checkRights refuses a graph with something to write that the credentials may not write. What stands already needs no right.
func checkRights(ctx context.Context, s *azure.Session, nodes []*stack.Node, roles *spreading) error {
	look := rights{s: s, at: map[string]azure.Permissions{}}
	switch err := look.everywhere(ctx); {
	case failure.IsSignIn(err):
		return err
	case err != nil:
		return nil // Azure does not tell, so the writes have to
	}
	lacks := func(n *stack.Node) bool { return writeAction(n) != "" && !look.all.Allow(writeAction(n)) }
	if !slices.ContainsFunc(nodes, lacks) {
		return nil
	}
	findTheirs(ctx, nodes)
	missing, all := map[string][]string{}, true // all that is missing was given a short time ago
	for _, n := range nodes {
		if !lacks(n) || stands(ctx, n) {
			continue
		}
		action, group := writeAction(n), groupOf(n)
		if may, known := look.mayIn(ctx, group, action); known && !may && !slices.Contains(missing[action], group) {
			missing[action] = append(missing[action], group)
			all = all && roles.isSpreading(ctx, action, s.GroupID(group))
		}
	}
	err := missingRights(s, missing)
	if all {
		return failure.Spreading(err, "nothing is made yet, for Azure does not show the rights of these credentials yet: they were given a role a short time ago, or have none at all")
	}
	return err
}

// findTheirs looks for what is the user's, for some nodes are in its group. What is missing is for its own node to report.
func findTheirs(ctx context.Context, nodes []*stack.Node) {
	for _, first := range []bool{true, false} {
		for _, n := range nodes {
			if n.Brought && first == (len(n.DependsOn) == 0) {
				_, _ = n.Observe(ctx)
			}
		}
	}
}

// stands tells whether the node needs no write. One that cannot be looked at yet, for it waits for another, does.
func stands(ctx context.Context, n *stack.Node) bool {
	state, err := n.Observe(ctx)
	return err == nil && state == stack.Current
}

// rights remembers what Azure has answered.
type rights struct {
	s   *azure.Session
	all azure.Permissions            // on the subscription
	at  map[string]azure.Permissions // on its groups
}

// everywhere asks for the subscription. A principal that has its roles on groups alone may not ask, and has none there.
func (r *rights) everywhere(ctx context.Context) (err error) {
	r.all, err = r.s.Permissions(ctx, "/subscriptions/"+r.s.SubscriptionID)
	if failure.CodeOf(err) == codeForbidden {
		return nil
	}
	return err
}

// mayIn tells whether the action is allowed in the group, and whether Azure has told. In a group that does not exist yet counts what is
// allowed everywhere.
func (r *rights) mayIn(ctx context.Context, group, action string) (may, known bool) {
	if group == "" {
		return false, true
	}
	permissions, asked := r.at[group]
	if !asked {
		var err error
		permissions, err = r.s.Permissions(ctx, r.s.GroupID(group))
		if err != nil && !failure.IsNotFound(err) {
			return false, false
		}
		r.at[group] = permissions
	}
	return permissions.Allow(action), true
}

// groupOf is the resource group in which the node's resource is, "" while that is not known.
func groupOf(n *stack.Node) string {
	id, err := azure.ParseID(n.Resource)
	if err != nil {
		return ""
	}
	return id.ResourceGroup
}

const (
	writeRoles = "Microsoft.Authorization/roleAssignments/write"
	writeGroup = "Microsoft.Resources/subscriptions/resourceGroups/write"
)

// writeAction is the right that making the node takes, "" where it takes none in Azure's resource manager.
func writeAction(n *stack.Node) string {
	id, err := azure.ParseID(n.Resource)
	switch {
	case n.Brought || n.Apply == nil:
		return ""
	case n.Kind == "role assignment":
		return writeRoles
	case n.Kind == "resource group":
		return writeGroup
	case err != nil:
		return ""
	}
	return id.Type + "/write"
}

func missingRights(s *azure.Session, missing map[string][]string) error {
	if len(missing) == 0 {
		return nil
	}
	var lines []string
	for action, where := range missing {
		where = slices.DeleteFunc(where, func(group string) bool { return group == "" })
		line := action
		if len(where) > 0 {
			sort.Strings(where)
			line += " in " + strings.Join(where, ", ")
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	remedy := "give their service principal the role Contributor there or on the subscription"
	if len(missing[writeRoles]) > 0 {
		remedy = "give their service principal the role User Access Administrator there or on the subscription (with Contributor), or have the roles given by somebody who may: " +
			"`hypershift create iam azure " + FieldRoles.String() + "`"
	}
	return &failure.Error{Op: "create", Resource: "subscription " + s.SubscriptionID, Code: codeForbidden, Kind: failure.Terminal,
		Cause: "nothing was made, for the credentials lack a right: " + strings.Join(lines, "; "), Field: "role of the signed-in identity", Remedy: remedy}
}

// Gate has what is there already found before anything is written: with a resource missing that the user names, nothing is made.
func Gate(nodes []*stack.Node) {
	brought := map[string]bool{}
	var gates []string
	for _, n := range nodes {
		brought[n.ID] = n.Brought
		if n.Brought && len(n.DependsOn) == 0 {
			gates = append(gates, n.ID)
		}
	}
	for _, n := range nodes {
		if n.Brought || slices.ContainsFunc(n.DependsOn, func(id string) bool { return !brought[id] }) {
			continue
		}
		n.Ahead = len(n.DependsOn) == 0
		for _, id := range gates {
			if !slices.Contains(n.DependsOn, id) {
				n.DependsOn = append(n.DependsOn, id)
			}
		}
	}
}

// Deletions is the plan of a destroy.
func Deletions(nodes []*stack.Node) []stack.Step {
	steps := []stack.Step{}
	for _, n := range nodes {
		if n.Delete != nil {
			steps = append(steps, stack.Step{Kind: n.Kind, Name: n.Name, Action: "delete"})
		}
	}
	return steps
}
