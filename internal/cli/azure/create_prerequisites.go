package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewCreatePrerequisitesCommand is create prerequisites.
func NewCreatePrerequisitesCommand() *cobra.Command {
	return command.Parent("prerequisites", "Create everything that a hosted cluster needs in Azure", newCreatePrerequisitesAzureCommand())
}

func newCreatePrerequisitesAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o provision.PrerequisitesOptions
	var handoff azureflags.HandoffFile
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "OIDC issuer, workload identities, DNS zone and infrastructure in one run",
		Long: `Does what create oidc-issuer, create iam, create dns and create infra do one after the other, as one run: what does not wait
for each other is made at the same time, and the identities get their roles. The hand-off file takes the result, for
"hypershift create cluster azure --from". Run again, it changes nothing; each part can be destroyed and made again by its own command.`,
		Example: `  hypershift create prerequisites azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --resource-group-name os4-common --base-domain example.com --dns-zone-name clusters.example.com \
    --management-issuer-url https://ISSUER --external-dns-credentials azure_mgmt.json --handoff demo.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if handoff.Path == "" {
				return errors.New("--handoff is required: the file that takes the result")
			}
			if err := handoff.OpenWritten(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, &o.Issuer.Name, &o.IAM.InfraID)
			sharePrerequisites(&o, flags.Location)
			handoff.ContinueInfra(&o.Infra)
			if err := o.Validate(); err != nil {
				return err
			}
			if err := errors.Join(flagfile.CheckNewFolder("--output-dir", o.Issuer.KeyDirectory), flagfile.CheckWritable("--external-dns-credentials", o.DNS.CredentialsPath)); err != nil {
				return err
			}
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					return provision.PlanPrerequisites(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) (*provision.Prerequisites, error) {
					return createPrerequisites(ctx, cmd, s, &flags, o, &handoff)
				},
				func(w io.Writer, _ *provision.Prerequisites) error {
					_, err := fmt.Fprintln(w, handoff.Path)
					return err
				})
		},
	}
	flags.Add(cmd)
	flags.AddPlan(cmd)
	addIssuerFlags(cmd, &o.Issuer)
	addPrerequisitesFlags(cmd, &o)
	handoff.AddWritten(cmd)
	return cmd
}

func addPrerequisitesFlags(cmd *cobra.Command, o *provision.PrerequisitesOptions) {
	f := cmd.Flags()
	f.StringVar(&o.IAM.InfraID, "infra-id", "", "infrastructure id; part of the names of identities and resource groups")
	f.BoolVar(&o.IAM.EnableKMS, "enable-kms", false, "also create the identity for encryption with Azure Key Vault")
	f.StringToStringVar(&o.Issuer.Tags, "tags", nil, "tags of what is made")
	f.StringVar(&o.DNS.Zone, "dns-zone-name", "", "zone to make for the hosted clusters' endpoints; none when empty")
	f.StringVar(&o.DNS.ParentZoneID, "parent-zone-id", "", "ARM id of the parent zone; the closest one of the subscription when empty")
	f.BoolVar(&o.DNS.SkipDelegation, "skip-delegation", false, "the NS records are made elsewhere; they are in the result")
	f.StringVar(&o.DNS.ManagementURL, "management-issuer-url", "", "issuer of the management cluster's tokens: ExternalDNS by workload identity")
	f.StringVar(&o.DNS.ServicePrincipal, "service-principal-name", "", "application to make: ExternalDNS by service principal")
	f.StringVar(&o.DNS.CredentialsPath, "external-dns-credentials", "", "file to write for hypershift install --external-dns-credentials (mode 0600)")
	addResolver(f, &o.DNS.Resolver)
	f.DurationVar(&o.DNS.DelegationWait, "delegation-wait", 2*time.Minute, "how long to wait until DNS answers with the delegation")
	f.StringVar(&o.Infra.BaseDomain, "base-domain", "", "name of an existing public DNS zone of the subscription")
	infraflags.AddBrought(f, &o.Infra)
	infraflags.AddAppsZone(f, &o.Infra)
	f.StringVar(&o.Infra.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone; found when empty")
}

// sharePrerequisites gives the parts what they have in common.
func sharePrerequisites(o *provision.PrerequisitesOptions, location string) {
	name, group, tags := o.Issuer.Name, o.Issuer.ResourceGroup, o.Issuer.Tags
	o.Issuer.Location = location
	o.IAM.Name, o.IAM.ResourceGroup, o.IAM.Location, o.IAM.Tags = name, group, location, tags
	o.DNS.ResourceGroup, o.DNS.Location, o.DNS.Tags = group, location, tags
	o.Infra.Name, o.Infra.InfraID, o.Infra.Location, o.Infra.Tags = name, o.IAM.InfraID, location, tags
	o.Infra.AssignRoles = true
}

func createPrerequisites(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o provision.PrerequisitesOptions, h *azureflags.HandoffFile) (*provision.Prerequisites, error) {
	if err := h.Begin(s, flags, o.Issuer.Name, o.IAM.InfraID); err != nil {
		return nil, err
	}
	h.BeginInfra(s, o.Infra)
	if o.DNS.Zone != "" {
		if err := h.AnnounceDNS(s, o.DNS); err != nil {
			return nil, h.Abandon(err)
		}
	}
	out, err := provision.CreatePrerequisites(ctx, s, o, h.KeepTrue("", progress.OfStack(cmd)))
	if err != nil {
		return nil, h.Abandon(err)
	}
	h.Issuer, err = h.IssuerHandoff(o.Issuer, out.Issuer)
	h.Identities = &handoff.Identities{ResourceGroup: o.IAM.ResourceGroup, Clients: out.Identities}
	if out.DNS != nil {
		h.RecordDNS(out.DNS)
	}
	h.EndInfra(o.Infra, out.Infra)
	return out, h.Save(err)
}
