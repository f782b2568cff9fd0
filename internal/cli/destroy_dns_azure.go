package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
)

func newDestroyDNSCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "dns", Short: "Destroy the DNS zone of the hosted clusters' endpoints", RunE: needSubcommand}
	cmd.AddCommand(newDestroyDNSAzureCommand())
	return cmd
}

func newDestroyDNSAzureCommand() *cobra.Command {
	var flags azureFlags
	var o provision.DNSOptions
	var handoff handoffFile
	var force bool
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
			completeDNS(&o, handoff.DNS)
			session, err := flags.session()
			if err != nil {
				return err
			}
			if flags.dryRun {
				steps, err := provision.PlanDestroyDNS(cmd.Context(), session, o, force)
				if err != nil {
					return err
				}
				return flags.printPlan(cmd.OutOrStdout(), steps)
			}
			return destroyDNS(cmd.Context(), cmd, session, o, force, &handoff)
		},
	}
	flags.add(cmd)
	flags.addPlan(cmd)
	addDNSFlags(cmd, &o)
	cmd.Flags().BoolVar(&force, "force", false, "delete the zone even where it is not ours or has records")
	handoff.addRead(cmd)
	return cmd
}

func completeDNS(o *provision.DNSOptions, from *provision.DNSHandoff) {
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

func destroyDNS(ctx context.Context, cmd *cobra.Command, s *azure.Session, o provision.DNSOptions, force bool, h *handoffFile) error {
	recorder := provision.NewRecorder(stackProgress(cmd))
	err := provision.DestroyDNS(ctx, s, o, force, recorder.Progress)
	h.Record("dns", recorder, provision.DNSIDs(s, o, h.DNS))
	if err == nil {
		h.DNS = nil
		if o.CredentialsPath != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "kept the file %s; what it names is gone\n", o.CredentialsPath)
		}
	}
	return h.save(err)
}
