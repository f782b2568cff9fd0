package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/existing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// compare holds the cluster that exists against the typed flags; defaults are nobody's wish. An error says that a flag asks for what
// is not there, and nothing may be made then. What was asked for the last time as well is only told: the command may be run again after
// somebody has scaled or upgraded the cluster.
func (c *creation) compare(ctx context.Context, r resolved) (resolved, error) {
	earlier, err := c.readAsked(ctx, r.client, r.existing)
	if err != nil {
		return r, err
	}
	if r.asked, r.differences, err = existing.Compare(ctx, r.client, r.typed.wishes(), r.cluster, r.existing, earlier); err != nil {
		return r, err
	}
	return r, c.tellDifferences(r)
}

// tellDifferences prints them, and refuses what is asked for anew.
func (c *creation) tellDifferences(r resolved) error {
	c.say("HostedCluster %s/%s exists with infrastructure id %s and is left as it is; what is missing beside it is made", r.existing.Namespace, r.existing.Name, r.existing.Spec.InfraID)
	var contradicted []string
	for _, d := range r.differences {
		fmt.Fprintln(c.cmd.ErrOrStderr(), d.String())
		if !d.AskedBefore {
			contradicted = append(contradicted, d.Flags...)
		}
	}
	if len(contradicted) == 0 {
		return nil
	}
	slices.Sort(contradicted)
	return fmt.Errorf("HostedCluster %s/%s exists and nothing was changed, although %s would have it otherwise: use the commands above, or leave the flags out",
		r.existing.Namespace, r.existing.Name, strings.Join(slices.Compact(contradicted), ", "))
}

// wishes are the flags as far as a cluster that exists is held against them.
func (t typed) wishes() existing.Flags {
	return existing.Flags{
		Given: t.given, OperatorImage: t.controlPlaneOperatorImage,
		Files: map[string]string{"pull-secret": t.pullSecret, "ssh-key": t.sshKey, "sa-token-issuer-private-key-path": t.signingKey, "additional-trust-bundle": t.trustBundle},
	}
}

// continued takes from the cluster that exists what no flag says.
func (r resolved) continued() resolved {
	live := r.existing.Spec
	r.infra.InfraID = cmp.Or(r.infra.InfraID, live.InfraID)
	p := live.Platform.Azure
	if p == nil {
		return r
	}
	if !r.typed.given("location") {
		r.location, r.infra.Location = p.Location, p.Location
	}
	known := &handoff.File{Infra: &infra.Output{BaseDomain: live.DNS.BaseDomain, ResourceGroupName: p.ResourceGroupName,
		VNetID: p.VnetID, SubnetID: p.SubnetID, SecurityGroupID: p.SecurityGroupID}}
	known.ContinueInfra(&r.infra)
	r.cluster.Infra = manifest.Infra{InfraID: live.InfraID, Location: r.infra.Location, BaseDomain: r.infra.BaseDomain, Cloud: r.typed.Cloud,
		ResourceGroup: cmp.Or(r.infra.ResourceGroup, p.ResourceGroupName), VNetID: cmp.Or(r.infra.VNetID, p.VnetID),
		SubnetID: cmp.Or(r.infra.SubnetID, p.SubnetID), SecurityGroupID: cmp.Or(r.infra.NSGID, p.SecurityGroupID)}
	if r.infra.Identities != nil {
		r.cluster.Identity.WorkloadIdentities = identitySet(r.infra.Identities)
	}
	if r.infra.Managed != nil {
		r.cluster.Identity.ManagedIdentities = r.infra.Managed
	}
	return r
}
