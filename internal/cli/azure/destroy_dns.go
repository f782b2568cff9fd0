package azure

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewDestroyDNSCommand is destroy dns.
func NewDestroyDNSCommand() *cobra.Command {
	return command.Parent("dns", "Destroy the DNS zone of the hosted clusters' endpoints",
		newDestroyDNSAzureCommand())
}

func newDestroyDNSAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o dns.Options
	var handoff azureflags.HandoffFile
	var force bool
	var guard useGuard
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete ExternalDNS's identity, the delegation and the zone",
		Long: `Deletes what create dns azure made. A zone that it did not make, or that still has records, stays unless --force is given: with
the zone go the names of the clusters that use it.`,
		Example: `  hypershift destroy dns azure --dns-zone-name clusters.example.com --resource-group-name os4-common --azure-creds azure-credentials.json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := handoff.MustOpen(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, nil, nil)
			completeDNS(&o, handoff.KnownDNS())
			o.CredentialsPath = handoff.Locate(o.CredentialsPath)
			if o.Zone == "" && handoff.Path != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "nothing to do: %s records no DNS zone; give --dns-zone-name to destroy one\n", handoff.Path)
				return flags.PrintNothing(cmd.OutOrStdout())
			}
			what := "the DNS zone " + o.Zone
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := guard.allow(cmd, what, true, ofZone(o.Zone)); err != nil {
						return nil, err
					}
					return dns.PlanDestroy(ctx, s, o, force)
				},
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := guard.allow(cmd, what, false, ofZone(o.Zone)); err != nil {
						return nil, err
					}
					return destroyDNS(ctx, cmd, s, &flags, o, force, &handoff)
				}, nil)
		},
	}
	flags.Add(cmd)
	flags.AddPlan(cmd)
	addDNSFlags(cmd, &o)
	cmd.Flags().BoolVar(&force, "force", false, "delete the zone even where it is not ours or has records")
	guard.add(cmd)
	handoff.AddRead(cmd)
	return cmd
}

func completeDNS(o *dns.Options, from *dns.Output) {
	if from == nil {
		return
	}
	o.Zone = cmp.Or(o.Zone, from.Zone)
	if id, err := azure.ParseID(from.ZoneID); err == nil {
		o.ResourceGroup = cmp.Or(o.ResourceGroup, id.ResourceGroup)
	}
	if !o.SkipDelegation {
		o.ParentZoneID = cmp.Or(o.ParentZoneID, from.ParentZoneID)
	}
	o.ServicePrincipal = cmp.Or(o.ServicePrincipal, from.Application)
	o.CredentialsPath = from.CredentialsPath
}

func destroyDNS(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o dns.Options, force bool, h *azureflags.HandoffFile) ([]stack.Step, error) {
	var removed azureflags.Removals
	if err := h.Begin(s, flags, "", ""); err != nil {
		return nil, err
	}
	err := dns.Destroy(ctx, s, o, force, removed.Note(h.KeepTrue(dns.Stack, progress.OfStack(cmd))))
	if err == nil {
		h.DNSGone()
		if o.CredentialsPath != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "kept the file %s; what it names is gone\n", o.CredentialsPath)
		}
	}
	return removed.Steps(), h.Save(err)
}
