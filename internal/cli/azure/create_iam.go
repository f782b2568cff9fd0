// Package azure has the commands for what a hosted cluster needs in Azure: issuer, identities, infrastructure, DNS and prerequisites are
// created, destroyed, rotated and verified.
package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewCreateIAMCommand is create iam.
func NewCreateIAMCommand() *cobra.Command {
	return command.Parent("iam", "Create the workload identities of a hosted cluster",
		newCreateIAMAzureCommand())
}

// iamFlags are the flags of create iam azure as typed.
type iamFlags struct {
	azureflags.Flags
	iam         iam.Options
	handoff     azureflags.HandoffFile
	outputFile  string
	assignRoles bool
	roles       iam.RoleScopes
}

func newCreateIAMAzureCommand() *cobra.Command {
	f := &iamFlags{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Managed identities, federated credentials and, when asked, role assignments; writes workload-identities.json",
		Example: `  hypershift create iam azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --resource-group-name os4-common --oidc-issuer-url https://ACCOUNT.blob.core.windows.net/demo \
    --output-file workload-identities.json
  hypershift create iam azure --infra-id demo-x7k2p --azure-creds azure-credentials.json --handoff demo.yaml \
    --assign-identity-roles --cluster-resource-group-name demo-managed-rg --dns-zone-rg-name os4-common`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.fill(cmd); err != nil {
				return err
			}
			return azureflags.WithPlan(cmd, &f.Flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					return iam.Plan(ctx, s, f.iam)
				},
				func(ctx context.Context, s *azure.Session) (*identity.WorkloadIdentities, error) {
					return createIAM(ctx, cmd, s, &f.Flags, f.iam, f.outputFile, &f.handoff)
				},
				func(w io.Writer, _ *identity.WorkloadIdentities) error {
					f.outputFile = cmp.Or(f.outputFile, f.handoff.Path)
					_, err := fmt.Fprintln(w, f.outputFile)
					return err
				})
		},
	}
	f.Flags.Add(cmd)
	f.AddPlan(cmd)
	flags, o := cmd.Flags(), &f.iam
	flags.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	flags.StringVar(&o.InfraID, "infra-id", "", "infrastructure id; part of every identity's name")
	flags.StringVar(&o.ResourceGroup, "resource-group-name", "", "resource group of the identities; created when missing")
	flags.StringVar(&o.IssuerURL, "oidc-issuer-url", "", "issuer of the hosted cluster's tokens")
	flags.StringVar(&f.outputFile, "output-file", "", "file to write the client ids to")
	flags.BoolVar(&o.EnableKMS, "enable-kms", false, "also create the identity for encryption with Azure Key Vault")
	flags.StringToStringVar(&o.Tags, "tags", nil, "tags of the identities")
	f.addRoles(flags)
	f.handoff.AddWritten(cmd)
	return cmd
}

// addRoles are for roles on groups that exist already: the user's own.
func (f *iamFlags) addRoles(flags *pflag.FlagSet) {
	r := &f.roles
	flags.BoolVar(&f.assignRoles, "assign-identity-roles", false, "give the identities their roles on existing groups; on groups that they make, create infra and create cluster do it")
	flags.StringVar(&r.ResourceGroup, "cluster-resource-group-name", "", "with --assign-identity-roles: existing resource group that the cluster will be made in")
	flags.StringVar(&r.VNetID, "vnet-id", "", "with --assign-identity-roles: existing virtual network")
	flags.StringVar(&r.NSGID, "network-security-group-id", "", "with --assign-identity-roles: existing network security group")
	flags.StringVar(&r.DNSZoneGroup, "dns-zone-rg-name", "", "with --assign-identity-roles: resource group of the public DNS zone")
}

// fill completes the options and checks them, before any call is made.
func (f *iamFlags) fill(cmd *cobra.Command) error {
	if err := f.handoff.OpenWritten(); err != nil {
		return err
	}
	o := &f.iam
	f.handoff.Complete(cmd, &f.Flags, &o.Name, &o.InfraID)
	if from := f.handoff.Issuer; from != nil {
		o.IssuerURL = cmp.Or(o.IssuerURL, from.URL)
		o.ResourceGroup = cmp.Or(o.ResourceGroup, from.ResourceGroup)
	}
	o.Location = f.Location
	if f.outputFile == "" && f.handoff.Path == "" && !f.DryRun {
		return errors.New("output-file is required, unless --handoff takes the result")
	}
	switch {
	case f.assignRoles:
		o.Roles = &f.roles
	case f.roles != iam.RoleScopes{}:
		return errors.New("--cluster-resource-group-name, --vnet-id, --network-security-group-id and --dns-zone-rg-name say where to give roles; they need --assign-identity-roles")
	}
	if err := o.Validate(); err != nil {
		return err
	}
	return flagfile.CheckWritable("--output-file", f.outputFile)
}

func createIAM(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o iam.Options, path string, h *azureflags.HandoffFile) (*identity.WorkloadIdentities, error) {
	if err := h.Begin(s, flags, o.Name, o.InfraID); err != nil {
		return nil, err
	}
	identities, err := iam.Create(ctx, s, o, h.KeepTrue(iam.Stack, progress.OfStack(cmd)))
	if err != nil {
		return nil, h.Abandon(err)
	}
	h.Identities = &handoff.Identities{ResourceGroup: o.ResourceGroup, Clients: identities}
	return identities, h.Save(writeIdentities(path, identities))
}

func writeIdentities(path string, identities *identity.WorkloadIdentities) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(identities, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode the identities: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil { //nolint:gosec // ids are no secrets
		return fmt.Errorf("cannot write --output-file: %w", err)
	}
	return nil
}
