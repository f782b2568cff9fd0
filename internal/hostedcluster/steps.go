package hostedcluster

import (
	"context"
	"errors"
	"fmt"
)

// step is one named part of a reconcile.
type step struct {
	name string
	// needs names the steps without whose success this one makes no sense.
	needs []string
	run   func(*pass, context.Context) error
}

// buildSteps in order. Whatever needs a failed step is left as it is; everything else still runs.
var buildSteps = []step{
	{name: "support", run: (*pass).checkSupport},
	{name: "configuration", needs: []string{"support"}, run: (*pass).checkConfiguration},
	{name: "release", needs: []string{"support"}, run: (*pass).lookupRelease},
	{name: "upgrade", needs: []string{"release"}, run: (*pass).gateUpgrade},
	{name: "namespace", needs: []string{"configuration", "upgrade"}, run: (*pass).ensureNamespace},
	{name: "credentials", needs: []string{"namespace"}, run: (*pass).ensureCredentials},
	{name: "secrets", needs: []string{"namespace"}, run: (*pass).copyInputs},
	{name: "control plane", needs: []string{"credentials", "secrets"}, run: (*pass).ensureControlPlane},
	{name: "control-plane-operator", needs: []string{"control plane"}, run: (*pass).ensureControlPlaneOperator},
	{name: "machines", needs: []string{"control plane"}, run: (*pass).ensureClusterAPI},
	{name: "machine operators", needs: []string{"machines"}, run: (*pass).ensureClusterAPIOperators},
	{name: "access", needs: []string{"namespace"}, run: (*pass).exportAccess},
	{name: "ownership", run: (*pass).adoptSecrets},
}

func (p *pass) runSteps(ctx context.Context, steps []step) error {
	stopped := map[string]bool{}
	var failures []error
	for _, s := range steps {
		if p.blocked(s, stopped) {
			stopped[s.name] = true
			continue
		}
		err := s.run(p, ctx)
		if err == nil {
			continue
		}
		stopped[s.name] = true
		var wait *waiting
		if errors.As(err, &wait) {
			p.requeue(wait.after)
			continue
		}
		failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
	}
	return errors.Join(failures...)
}

func (p *pass) blocked(s step, stopped map[string]bool) bool {
	for _, need := range s.needs {
		if stopped[need] {
			return true
		}
	}
	return false
}
