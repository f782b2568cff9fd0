package cluster

import (
	"cmp"
	"context"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// Looker looks whether Azure can have what is asked for; nil looks at nothing.
type Looker func(context.Context, *azure.Session, feasibility.Options) ([]preflight.Check, error)

// lookAhead looks, before the first write, at what is decisive and cheap. What fails ends the command; what Azure does not tell is left to the
// writes. A cluster that is there has what it asks for, and a
// rendering for infrastructure that is there makes nothing.
func (c *creation) lookAhead(ctx context.Context, r resolved) error {
	if c.look == nil || r.typed.skipPreflight || r.existing != nil || r.typed.render && r.typed.infraJSON != "" {
		return nil
	}
	o, err := r.feasibility()
	if err != nil {
		return err
	}
	checks, err := c.look(ctx, r.session, o)
	if err != nil {
		return err
	}
	return feasibility.Refused(checks, c.say, "`hypershift preflight cluster` with the same flags looks at more, and --skip-preflight leaves this look out")
}

// feasibility is what the cluster will ask of Azure.
func (r resolved) feasibility() (feasibility.Options, error) {
	o := feasibility.Options{
		Infra: r.infra, Output: r.typed.handed.infra,
		IssuerURL: r.cluster.Identity.IssuerURL, SigningKeyPath: r.typed.signingKey, Identities: r.infra.Identities,
		ExternalDNSDomain: r.cluster.Publishing.ExternalDNSDomain, Machines: r.machines(),
	}
	if r.typed.infraJSON != "" && o.Output == nil {
		var err error
		if o.Output, err = infra.ReadOutput(r.typed.infraJSON); err != nil {
			return o, err
		}
	}
	if o.Output != nil {
		o.Infra.InfraID, o.Infra.Location = o.Output.InfraID, o.Output.Region
		o.Infra.BaseDomain = cmp.Or(o.Infra.BaseDomain, o.Output.BaseDomain)
		o.Identities = cmp.Or(o.Identities, o.Output.WorkloadIdentities)
	}
	return o, nil
}

// machines are those of the node pools that are made with the cluster.
func (r resolved) machines() feasibility.Machines {
	pools := max(len(r.cluster.Zones), 1)
	if r.typed.machines.Replicas < 0 {
		pools = 0
	}
	m := feasibility.OfPool(r.typed.machines.Pool(), pools, r.cluster.Zones)
	m.Image = func(context.Context) feasibility.Image {
		return feasibility.ImageOf(r.typed.machines.NodePool, r.release)
	}
	return m
}
