package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	{name: "references", needs: []string{"support"}, run: (*pass).checkReferences},
	{name: "release", needs: []string{"support"}, run: (*pass).lookupRelease},
	{name: "upgrade", needs: []string{"release"}, run: (*pass).gateUpgrade},
	{name: "admission", needs: []string{"configuration"}, run: (*pass).admitRelease},
	{name: "helper image", needs: []string{"release"}, run: (*pass).keepHelperImage},
	{name: "image labels", needs: []string{"configuration", "helper image"}, run: (*pass).readImageLabels},
	{name: "namespace", needs: []string{"admission"}, run: (*pass).ensureNamespace},
	{name: "isolation", needs: []string{"namespace"}, run: (*pass).ensureIsolation},
	{name: "credentials", needs: []string{"namespace"}, run: (*pass).ensureCredentials},
	{name: "required copies", needs: []string{"namespace"}, run: (*pass).copyRequired},
	{name: "copies", needs: []string{"namespace"}, run: (*pass).copyOptional},
	{name: "installation's copies", needs: []string{"namespace"}, run: (*pass).copyInstallation},
	{name: "control plane", needs: []string{"credentials", "required copies"}, run: (*pass).ensureControlPlane},
	{name: "former copies", needs: []string{"configuration", "references", "control plane"}, run: (*pass).removeFormerCopies},
	{name: "machines", needs: []string{"control plane"}, run: (*pass).ensureClusterAPI},
	{name: "key vault", needs: []string{"release"}, run: (*pass).checkVault},
	{name: "control-plane-operator", needs: []string{"control plane", "image labels"}, run: (*pass).ensureControlPlaneOperator},
	{name: "machine operators", needs: []string{"machines", "image labels"}, run: (*pass).ensureClusterAPIOperators},
	{name: "dashboard", needs: []string{"namespace"}, run: (*pass).ensureDashboard},
	{name: "access", needs: []string{"namespace"}, run: (*pass).exportAccess},
	{name: "ownership", run: (*pass).adoptSecrets},
}

func (p *pass) runSteps(ctx context.Context, steps []step) error {
	p.stopped = map[string]bool{}
	var failures []error
	for _, s := range steps {
		if slices.ContainsFunc(s.needs, func(need string) bool { return p.stopped[need] }) {
			p.stopped[s.name] = true
			continue
		}
		err := s.run(p, ctx)
		if err == nil {
			continue
		}
		p.stopped[s.name] = true
		var wait *waiting
		if errors.As(err, &wait) {
			p.requeue(wait.after)
			continue
		}
		failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
	}
	return errors.Join(failures...)
}

// admitRelease lets the pass go on when the release may run. One that the control plane runs already, and that just now cannot be read
// or was found wrong, does not keep the rest from being kept up: a new pull secret may be what makes it readable again.
func (p *pass) admitRelease(context.Context) error {
	if !p.stopped["upgrade"] {
		return nil
	}
	if p.hcp != nil && p.hcp.Spec.ReleaseImage == p.hc.Spec.Release.Image && p.hcpImage() == p.controlPlaneImage() {
		return nil
	}
	return &waiting{what: "a release that can be used"}
}

// hcpImage is the payload that the control plane runs, or is moving to.
func (p *pass) hcpImage() string {
	if image := p.hcp.Spec.ControlPlaneReleaseImage; image != nil && *image != "" {
		return *image
	}
	return p.hcp.Spec.ReleaseImage
}
