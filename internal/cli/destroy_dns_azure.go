package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func newDestroyDNSCommand() *cobra.Command {
	return parent("dns", "Destroy the DNS zone of the hosted clusters' endpoints",
		newDestroyDNSAzureCommand())
}

func newDestroyDNSAzureCommand() *cobra.Command {
	var flags azureFlags
	var o dns.Options
	var handoff handoffFile
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
			if err := handoff.mustOpen(); err != nil {
				return err
			}
			handoff.complete(cmd, &flags, nil, nil)
			completeDNS(&o, handoff.KnownDNS())
			o.CredentialsPath = handoff.locate(o.CredentialsPath)
			if o.Zone == "" && handoff.path != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "nothing to do: %s records no DNS zone; give --dns-zone-name to destroy one\n", handoff.path)
				return flags.printNothing(cmd.OutOrStdout())
			}
			what := "the DNS zone " + o.Zone
			return withPlan(cmd, &flags,
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
	flags.add(cmd)
	flags.addPlan(cmd)
	addDNSFlags(cmd, &o)
	cmd.Flags().BoolVar(&force, "force", false, "delete the zone even where it is not ours or has records")
	guard.add(cmd)
	handoff.addRead(cmd)
	return cmd
}

func completeDNS(o *dns.Options, from *dns.Output) {
	if from == nil {
		return
	}
	orElse(&o.Zone, from.Zone)
	if id, err := azure.ParseID(from.ZoneID); err == nil {
		orElse(&o.ResourceGroup, id.ResourceGroup)
	}
	if !o.SkipDelegation {
		orElse(&o.ParentZoneID, from.ParentZoneID)
	}
	orElse(&o.ServicePrincipal, from.Application)
	o.CredentialsPath = from.CredentialsPath
}

func destroyDNS(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureFlags, o dns.Options, force bool, h *handoffFile) ([]stack.Step, error) {
	var removed removals
	if err := h.claim(s, flags, "", ""); err != nil {
		return nil, err
	}
	err := dns.Destroy(ctx, s, o, force, removed.note(h.journal(dns.Stack, stackProgress(cmd))))
	if err == nil {
		h.DNSGone()
		if o.CredentialsPath != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "kept the file %s; what it names is gone\n", o.CredentialsPath)
		}
	}
	return removed.steps(), h.save(err)
}
