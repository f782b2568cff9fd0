package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// place is the cluster in its infrastructure, which is made or taken from --infra-json.
func (c *creation) place(ctx context.Context, r resolved) (manifest.Cluster, error) {
	out, err := c.infrastructure(ctx, r)
	if err != nil {
		if r.typed.infraJSON == "" {
			err = fmt.Errorf("creating the infrastructure: %w; what was made stays, continue with the same command and --infra-id %s", err, r.infra.InfraID)
		}
		return manifest.Cluster{}, err
	}
	if r.infra.InfraID != "" && out.InfraID != r.infra.InfraID {
		return manifest.Cluster{}, fmt.Errorf("--infra-id %s differs from infraID %s of --infra-json; leave the flag out", r.infra.InfraID, out.InfraID)
	}
	if r.infra.BaseDomain != "" && r.infra.BaseDomain != out.BaseDomain {
		c.say("warning: --base-domain %s is ignored: the infrastructure was made for %s", r.infra.BaseDomain, out.BaseDomain)
	}
	if r.typed.infraJSON != "" {
		if err := r.typed.checkInfra(out); err != nil {
			return manifest.Cluster{}, err
		}
	}
	return r.placedIn(out)
}

func (c *creation) infrastructure(ctx context.Context, r resolved) (*infra.Output, error) {
	switch {
	case r.typed.handed.infra != nil:
		out := r.typed.handed.infra
		if err := c.claimRecord(r, out.InfraID, r.location); err != nil {
			return nil, err
		}
		return out, checkNetwork(ctx, r, out)
	case r.typed.infraJSON != "":
		out, err := infra.ReadOutput(r.typed.infraJSON)
		if err != nil {
			return nil, err
		}
		return out, errors.Join(c.claimInfra(r, out), checkNetwork(ctx, r, out))
	}
	if r.typed.render {
		c.say("warning: without --infra-json rendering creates the infrastructure; use --dry-run to see what that is")
	}
	infraflags.WarnUnguarded(r.infra, c.say)
	c.say("infrastructure id %s", r.infra.InfraID)
	return c.makeInfra(ctx, r)
}

// makeInfra runs the stack and keeps the record of it: in the hand-off file, where there is one, and for the Secret beside the
// HostedCluster.
func (c *creation) makeInfra(ctx context.Context, r resolved) (*infra.Output, error) {
	if err := c.claimRecord(r, r.infra.InfraID, r.location); err != nil {
		return nil, err
	}
	h := c.record
	if err := flagfile.CheckWritable("--from", h.Path); err != nil {
		return nil, err
	}
	if err := h.Lock(); err != nil {
		return nil, err
	}
	h.BeginInfra(r.session, r.infra)
	out, err := c.createInfra(ctx, r.session, r.infra, h.KeepTrue(infra.Stack, progress.OfStack(c.cmd)))
	if err != nil {
		return nil, h.Abandon(err)
	}
	h.EndInfra(r.infra, out)
	return out, h.Save(nil)
}

// claimRecord says for which cluster the record is; without a file it is kept in memory.
func (c *creation) claimRecord(r resolved, infraID, location string) error {
	if c.record.File == nil {
		if err := c.record.Open(); err != nil {
			return err
		}
	}
	return c.record.IsOf(r.session, &azureflags.Flags{Cloud: r.typed.Cloud, Location: location}, r.cluster.Name, infraID)
}

// claimInfra takes infrastructure that is on no record into one.
func (c *creation) claimInfra(r resolved, out *infra.Output) error {
	if err := c.claimRecord(r, out.InfraID, out.Region); err != nil {
		return err
	}
	c.record.Infra = out
	return nil
}

// checkNetwork compares the ranges of a new cluster with the addresses of a network that is there.
func checkNetwork(ctx context.Context, r resolved, out *infra.Output) error {
	if r.typed.render || r.existing != nil || out.VNetID == "" {
		return nil
	}
	return infra.CheckRanges(ctx, r.session, infra.Options{VNetID: out.VNetID, Ranges: r.infra.Ranges})
}

// checkInfra refuses an output that does not fit the flags, or that is not one.
func (t typed) checkInfra(out *infra.Output) error {
	for _, v := range []struct{ key, value string }{
		{"infraID", out.InfraID}, {"region", out.Region}, {"resourceGroupName", out.ResourceGroupName}, {"baseDomain", out.BaseDomain},
		{"vnetID", out.VNetID}, {"subnetID", out.SubnetID}, {"securityGroupID", out.SecurityGroupID},
	} {
		if v.value == "" {
			return fmt.Errorf("--infra-json %s has no %s; give the output of `hypershift create infra azure`", t.infraJSON, v.key)
		}
	}
	t.infra.BaseDomain = out.BaseDomain
	zone := out.PrivateZoneID[strings.LastIndexByte(out.PrivateZoneID, '/')+1:]
	if t.baseDomainPrefix != "" && zone != "" && !strings.EqualFold(zone, t.clusterDomain()) {
		return fmt.Errorf("--base-domain-prefix %s makes the domain %s, but the private zone of --infra-json is %s", t.baseDomainPrefix, t.clusterDomain(), zone)
	}
	return t.validateDomain()
}

// placedIn is the cluster with the infrastructure and the identities that it works with.
func (r resolved) placedIn(out *infra.Output) (manifest.Cluster, error) {
	cluster := r.cluster
	cluster.Infra = manifest.Infra{
		InfraID: out.InfraID, Location: out.Region, ResourceGroup: out.ResourceGroupName,
		VNetID: out.VNetID, SubnetID: out.SubnetID, SecurityGroupID: out.SecurityGroupID,
		BaseDomain: out.BaseDomain, PublicZoneID: out.PublicZoneID, PrivateZoneID: out.PrivateZoneID, BootImageID: out.BootImageID,
	}
	if r.typed.Cloud != "AzurePublicCloud" {
		cluster.Infra.Cloud = r.typed.Cloud
	}
	if out.ControlPlaneMIs != nil {
		cluster.Identity.ManagedIdentities = out.ControlPlaneMIs
	} else {
		identities := cmp.Or(out.WorkloadIdentities, r.infra.Identities)
		if identities == nil {
			return cluster, errors.New("--infra-json holds no workloadIdentities; give --workload-identities-file")
		}
		cluster.Identity.WorkloadIdentities = identitySet(identities)
	}
	var err error
	cluster.KMS, err = keyFor(cluster, out.KMSClientID)
	return cluster, err
}

// keyFor is the cluster's key with the identity that the infrastructure names; nil where the cluster has none.
func keyFor(cluster manifest.Cluster, clientID string) (*manifest.KMS, error) {
	if cluster.KMS == nil {
		return nil, nil
	}
	kms := *cluster.KMS
	managed := cluster.Identity.ManagedIdentities != nil
	switch {
	case managed && kms.CredentialsSecretName == "":
		return nil, errors.New("--encryption-key-id needs --kms-credentials-secret-name where managed identities are used")
	case !managed && kms.CredentialsSecretName != "":
		return nil, errors.New("--kms-credentials-secret-name is for managed identities; workload identities have kmsClientID in their file")
	case managed:
		return &kms, nil
	}
	if kms.ClientID = cmp.Or(kms.ClientID, clientID); kms.ClientID == "" {
		return nil, errNoKMSIdentity
	}
	return &kms, nil
}

func identitySet(w *identity.WorkloadIdentities) *hyperv1.AzureWorkloadIdentitySet {
	id := func(i identity.Identity) hyperv1.WorkloadIdentity {
		return hyperv1.WorkloadIdentity{ClientID: hyperv1.AzureClientID(i.ClientID)}
	}
	set := &hyperv1.AzureWorkloadIdentitySet{
		ImageRegistry: id(w.ImageRegistry), Ingress: id(w.Ingress), File: id(w.File), Disk: id(w.Disk),
		NodePoolManagement: id(w.NodePoolManagement), CloudProvider: id(w.CloudProvider), Network: id(w.Network),
	}
	if w.ControlPlaneOperator != nil {
		set.ControlPlaneOperator = new(id(*w.ControlPlaneOperator))
	}
	return set
}
