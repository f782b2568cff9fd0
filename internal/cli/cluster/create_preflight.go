package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/release"
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
	var failed []error
	for _, check := range checks {
		switch check.Status {
		case preflight.Fail:
			failed = append(failed, fmt.Errorf("%s: %s; %s", check.Name, check.Detail, check.Remedy))
		case preflight.Warn:
			c.say("warning: %s: %s; %s", check.Name, check.Detail, check.Remedy)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return errors.Join(append(failed, errors.New("nothing is made; `hypershift preflight cluster` with the same flags looks at more, and --skip-preflight leaves this look out"))...)
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
	pool := r.typed.machines.Pool()
	m := feasibility.Machines{
		Size: cmp.Or(pool.InstanceType, manifest.DefaultInstanceType(pool.Arch)), Arch: pool.Arch, Zones: r.cluster.Zones, Pools: max(len(r.cluster.Zones), 1),
		PremiumDisks: strings.HasPrefix(pool.DiskStorageType, "Premium"), EphemeralDisk: pool.EphemeralDisk, EncryptionAtHost: pool.EncryptionAtHost == "Enabled",
		Image: func(context.Context) feasibility.Image { return r.image(r.release) },
	}
	if pool.AvailabilityZone != "" && len(m.Zones) == 0 {
		m.Zones = []string{pool.AvailabilityZone}
	}
	if r.typed.machines.Replicas < 0 {
		m.Pools = 0
	}
	m.Count = m.Pools * int(max(r.typed.machines.Replicas, 0))
	if m.Generation = "V2"; pool.Image.Generation == "Gen1" {
		m.Generation = "V1"
	}
	return m
}

// image is the one that the flags name, or the payload's for the machines.
func (r resolved) image(of *release.Release) feasibility.Image {
	i, arch := r.typed.machines.Image, r.typed.machines.Arch
	if i.Publisher == "" && of != nil {
		if named := of.MachineImage(arch, i.Generation == "Gen1"); named != nil {
			return feasibility.Image{Publisher: named.Publisher, Offer: named.Offer, SKU: named.SKU, Version: named.Version}
		}
	}
	return feasibility.Image{Publisher: i.Publisher, Offer: i.Offer, SKU: i.SKU, Version: i.Version, Plan: i.Plan}
}
