package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func newDestroyInfraCommand() *cobra.Command {
	return parent("infra", "Destroy the cloud infrastructure of a hosted cluster",
		newDestroyInfraAzureCommand())
}

func newDestroyInfraAzureCommand() *cobra.Command {
	var flags azureFlags
	var o infra.DestroyOptions
	var handoff handoffFile
	var guard useGuard
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete role assignments and the cluster's resource groups",
		Long: `Deletes what create infra azure and create cluster azure make. What goes is found by our tags, by the names of role assignments and by
the inventory of the hand-off file, so any one of them is enough. Resources that you brought stay.`,
		Example: `  hypershift destroy infra azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json
  hypershift destroy infra azure --from demo.yaml --azure-creds azure-credentials.json --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := handoff.mustOpen(); err != nil {
				return err
			}
			handoff.complete(cmd, &flags, nil, nil)
			say := progressLine(cmd)
			o.Show, o.Warn = showAdopted(cmd), func(sentence string) { say("warning: %s", sentence) }
			return withPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := handoff.isOf(s, &flags, o.Name, o.InfraID); err != nil {
						return nil, err
					}
					handoff.Demolish(&o)
					if err := guard.allow(cmd, "the infrastructure "+o.InfraID, true, ofInfra(o.Name, o.InfraID)); err != nil {
						return nil, err
					}
					return infra.PlanDestroy(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := handoff.claim(s, &flags, o.Name, o.InfraID); err != nil {
						return nil, err
					}
					handoff.Demolish(&o)
					if err := guard.allow(cmd, "the infrastructure "+o.InfraID, false, ofInfra(o.Name, o.InfraID)); err != nil {
						handoff.release()
						return nil, err
					}
					return destroyInfra(ctx, cmd, s, o, &handoff)
				}, nil)
		},
	}
	flags.add(cmd)
	flags.addPlan(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	f.StringVar(&o.InfraID, "infra-id", "", "infrastructure id")
	f.StringVar(&o.ResourceGroup, "resource-group-name", "", "main resource group; <name>-<infra-id> when empty")
	f.BoolVar(&o.PreserveResourceGroup, "preserve-resource-group", false, "keep the main group and delete only the cluster's resources in it")
	f.StringVar(&o.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone, where the ingress identity has a role")
	addDestroyFlags(f, &o)
	guard.add(cmd)
	handoff.addRead(cmd)
	return cmd
}

func destroyInfra(ctx context.Context, cmd *cobra.Command, s *azure.Session, o infra.DestroyOptions, h *handoffFile) ([]stack.Step, error) {
	var removed removals
	err := infra.Destroy(ctx, s, o, removed.note(h.journal(infra.Stack, stackProgress(cmd))))
	if err == nil {
		h.InfraGone()
	}
	return removed.steps(), h.save(err)
}
