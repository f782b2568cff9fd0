// Package cluster has the commands that create and destroy hosted clusters and print their kubeconfigs.
package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/releasestream"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/cli/interview"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// InfraCreator makes the infrastructure of a hosted cluster; tests replace it.
type InfraCreator func(context.Context, *azure.Session, infra.Options, func(stack.Event)) (*infra.Output, error)

// NewCreateCommand is create cluster.
func NewCreateCommand() *cobra.Command {
	return command.Parent("cluster", "Create a hosted cluster",
		NewCreateAzureCommand(infra.Create, release.Reader{}, feasibility.Quick))
}

// NewCreateAzureCommand is create cluster azure, with what makes the infrastructure, what looks into release payloads, and what looks whether
// Azure can have the cluster.
func NewCreateAzureCommand(createInfra InfraCreator, releases release.Provider, look Looker) *cobra.Command {
	t, record := &typed{}, &azureflags.HandoffFile{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Create a hosted cluster on Azure with its infrastructure and node pools",
		Example: `  hypershift create cluster azure --name demo --azure-creds azure-credentials.json --location eastus \
    --base-domain example.com --pull-secret pull-secret.json --generate-ssh --node-pool-replicas 2 \
    --release-image quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64 \
    --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo --sa-token-issuer-private-key-path serviceaccount-signer.private \
    --workload-identities-file workload-identities.json --assign-service-principal-roles --dns-zone-rg-name os4-common --wait
  hypershift create cluster azure --file cluster.yaml --dry-run
  hypershift create cluster azure --from demo.yaml --azure-creds azure-credentials.json --pull-secret pull-secret.json ...
  hypershift create cluster azure --name demo ... --infra-json infra.yaml --render > demo.yaml`,
		Long: `Makes a hosted cluster: its infrastructure in Azure, its Secrets, the HostedCluster and its node pools.

Run again for a cluster that exists (the same --infra-id or hand-off file), it leaves the HostedCluster, its node pools and the Secrets
that they name as they are, and makes only what is missing. What a typed flag asks for and is not so is told, with the command that
changes it; defaults ask for nothing. --dry-run tells the same. Exit status:
  0  what the typed flags ask for is there; or it was asked for in the same way before and somebody has changed it since, so that the
     command that made a cluster can be run again after the cluster was upgraded or scaled
  1  a typed flag asks for something new that is not there: nothing was changed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := &creation{createInfra: createInfra, releases: releases, look: look, cmd: cmd, say: progress.Line(cmd), streams: releasestream.New(), record: record}
			if err := c.fill(t.file); err != nil {
				return err
			}
			if t.interactive {
				c.who = interview.At(cmd)
				if err := c.ask(t); err != nil {
					return err
				}
			}
			return c.run(cmd.Context(), *t)
		},
	}
	t.define(cmd, record)
	return cmd
}

// define defines all flags of create cluster azure.
func (t *typed) define(cmd *cobra.Command, record *azureflags.HandoffFile) {
	t.Flags.Add(cmd)
	// The checks ask for it in its place: the name and the pull secret come first.
	delete(cmd.Flag("azure-creds").Annotations, cobra.BashCompOneRequiredFlag)
	t.AddPlan(cmd)
	command.Group(cmd, "How the command runs", t.addRun)
	t.addCluster(cmd)
	record.AddRead(cmd)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render-into")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "render-sensitive")
}

// addCluster defines all that says how the cluster is to be: what preflight cluster takes, too.
func (t *typed) addCluster(cmd *cobra.Command) {
	command.Group(cmd, "The cluster", t.addFile)
	t.addAllPlacement(cmd)
	command.Group(cmd, "The cluster", t.addGeneral)
	command.Group(cmd, "The control plane", t.addSpec)
	command.Group(cmd, "Network", t.addNetworking)
	command.Group(cmd, "Azure and identities", t.addAzure)
	command.Group(cmd, "The control plane", t.restore.add)
	cmd.MarkFlagsMutuallyExclusive("default-dual", "service-cidr")
	cmd.MarkFlagsMutuallyExclusive("default-dual", "cluster-cidr")
	cmd.MarkFlagsMutuallyExclusive("release-image", "release-stream")
	cmd.MarkFlagsMutuallyExclusive("encryption-key-file", "encryption-key-id")
}

// creation is what the phases of one create cluster share: the streams it talks through, and the record of what is made in Azure. The
// cluster goes through the phases as a value that no later phase changes: typed, validated, resolved, and at last the plan.
type creation struct {
	createInfra InfraCreator
	releases    release.Provider
	look        Looker
	cmd         *cobra.Command
	say         func(format string, args ...any)
	streams     *releasestream.Streams
	record      *azureflags.HandoffFile
	who         *interview.Person // who is asked, with --interactive
	origins     map[string]string // of flags that nobody has typed, and that are set all the same
}

func (c *creation) run(ctx context.Context, t typed) error {
	t, err := c.complete(t)
	if err != nil {
		return err
	}
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	v, err := validate(t)
	if err != nil {
		return err
	}
	if err := c.checkSupported(v.typed, v.cluster); err != nil {
		return err
	}
	r, err := c.resolve(ctx, v)
	if err != nil {
		return err
	}
	if r.existing == nil { // the operator has judged the payload of a cluster that is there
		if err := c.checkPayload(v.typed, v.cluster, r.release); err != nil {
			return err
		}
	}
	if err := c.lookAhead(ctx, r); err != nil {
		return err
	}
	if t.DryRun {
		return c.tellPlan(ctx, r)
	}
	cluster, err := c.place(ctx, r)
	if err != nil {
		return err
	}
	if cluster.Identity.ManagedIdentities != nil && !t.managed.Given() { // the infrastructure's file brought them
		if err := c.checkSupported(t, cluster); err != nil {
			return err
		}
	}
	if t.render {
		return c.writeManifests(t, cluster)
	}
	return c.finish(ctx, r, cluster)
}
