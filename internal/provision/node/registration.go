package node

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	registrationNode = "registration"
	codeRegistering  = "Registering" // ours: Azure answers with a state
)

// unregistered are namespaces that every subscription has.
var unregistered = []string{"Microsoft.Authorization", "Microsoft.Resources"}

// namespacesOf are those of the resources that the nodes write, in order.
func namespacesOf(nodes []*stack.Node, also []string) []string {
	all := slices.Clone(also)
	for _, n := range nodes {
		id, err := azure.ParseID(n.Resource)
		namespace, _, _ := strings.Cut(id.Type, "/")
		if err == nil && writeAction(n) != "" && n.Kind != "role assignment" && !slices.Contains(unregistered, namespace) {
			all = append(all, namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// registration is the node of the namespaces that the subscription has to have registered before anything can be made in them. Azure's own
// tools register what is missing; so does this. Who may not look learns it from the first write.
type registration struct {
	s          *azure.Session
	namespaces []string
	state      map[string]string // of each, as the last look found it
}

func (r *registration) node() *stack.Node {
	return &stack.Node{ID: registrationNode, Kind: "resource providers", Name: strings.Join(r.namespaces, ", "), Observe: r.observe, Apply: r.apply}
}

func (r *registration) observe(ctx context.Context) (stack.State, error) {
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	state := map[string]string{}
	for _, namespace := range r.namespaces {
		group.Go(func() error {
			found, err := r.s.Registration(ctx, namespace)
			if failure.CodeOf(err) == codeForbidden || failure.IsNotFound(err) {
				found, err = azure.Registered, nil
			}
			mu.Lock()
			defer mu.Unlock()
			state[namespace] = found
			return err
		})
	}
	err := group.Wait()
	r.state = state
	if len(r.without(azure.Registered)) == 0 {
		return stack.Current, err
	}
	return stack.Drifted, err
}

// without are the namespaces in none of the states.
func (r *registration) without(states ...string) []string {
	return slices.DeleteFunc(slices.Clone(r.namespaces), func(namespace string) bool { return slices.Contains(states, r.state[namespace]) })
}

func (r *registration) apply(ctx context.Context) error {
	for _, namespace := range r.without(azure.Registered, azure.Registering) {
		state, err := r.s.Register(ctx, namespace)
		if err != nil {
			return r.refused(err)
		}
		r.state[namespace] = state
	}
	left := r.without(azure.Registered)
	if len(left) == 0 {
		return nil
	}
	return &failure.Error{Op: "register", Resource: strings.Join(left, ", "), Code: codeRegistering, Kind: failure.Waiting,
		Cause: "nothing is made before the subscription has them", Remedy: "`az provider show -n NAMESPACE` says how far Azure is"}
}

// refused names the commands for who may register.
func (r *registration) refused(err error) error {
	if failure.CodeOf(err) != codeForbidden {
		return err
	}
	var commands []string
	for _, namespace := range r.without(azure.Registered, azure.Registering) {
		commands = append(commands, "az provider register -n "+namespace)
	}
	return &failure.Error{Op: "register", Resource: "subscription " + r.s.SubscriptionID, Code: codeForbidden, Kind: failure.Terminal,
		Cause:  "nothing was made, for the subscription does not have the resource providers, and the credentials may not register them",
		Remedy: "have somebody who may (Contributor on the subscription) run: " + strings.Join(commands, "; ")}
}

// afterRegistration has everything that is written wait for the namespaces.
func afterRegistration(nodes []*stack.Node) {
	for _, n := range nodes {
		if !n.Brought && n.ID != registrationNode && !slices.ContainsFunc(n.DependsOn, func(id string) bool { return !brought(nodes, id) }) {
			n.DependsOn = append(n.DependsOn, registrationNode)
		}
	}
}

func brought(nodes []*stack.Node, id string) bool {
	return slices.ContainsFunc(nodes, func(n *stack.Node) bool { return n.ID == id && n.Brought })
}

// Namespaces are those of the resources that the nodes write, and the others, in order.
func Namespaces(nodes []*stack.Node, also ...string) []string { return namespacesOf(nodes, also) }
