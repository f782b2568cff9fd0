package azure

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewDestroyInfraCommand is destroy infra.
func NewDestroyInfraCommand() *cobra.Command {
	return command.Parent("infra", "Destroy the cloud infrastructure of a hosted cluster",
		newDestroyInfraAzureCommand())
}

func newDestroyInfraAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o infra.DestroyOptions
	var handoff azureflags.HandoffFile
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
			if err := handoff.MustOpen(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, nil, nil)
			say := progress.Line(cmd)
			o.Show, o.Warn = infraflags.ShowAdopted(cmd), func(sentence string) { say("warning: %s", sentence) }
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := handoff.IsOf(s, &flags, o.Name, o.InfraID); err != nil {
						return nil, err
					}
					handoff.Demolish(&o)
					if err := guard.allow(cmd, "the infrastructure "+o.InfraID, true, ofInfra(o.Name, o.InfraID)); err != nil {
						return nil, err
					}
					return infra.PlanDestroy(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := handoff.Begin(s, &flags, o.Name, o.InfraID); err != nil {
						return nil, err
					}
					handoff.Demolish(&o)
					if err := guard.allow(cmd, "the infrastructure "+o.InfraID, false, ofInfra(o.Name, o.InfraID)); err != nil {
						handoff.Release()
						return nil, err
					}
					return destroyInfra(ctx, cmd, s, o, &handoff)
				}, nil)
		},
	}
	flags.Add(cmd)
	flags.AddPlan(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	f.StringVar(&o.InfraID, "infra-id", "", "infrastructure id")
	f.StringVar(&o.ResourceGroup, "resource-group-name", "", "main resource group; <name>-<infra-id> when empty")
	f.BoolVar(&o.PreserveResourceGroup, "preserve-resource-group", false, "keep the main group and delete only the cluster's resources in it")
	f.StringVar(&o.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone, where the ingress identity has a role")
	infraflags.AddDestroy(f, &o)
	guard.add(cmd)
	handoff.AddRead(cmd)
	return cmd
}

func destroyInfra(ctx context.Context, cmd *cobra.Command, s *azure.Session, o infra.DestroyOptions, h *azureflags.HandoffFile) ([]stack.Step, error) {
	var removed azureflags.Removals
	err := infra.Destroy(ctx, s, o, removed.Note(h.KeepTrue(infra.Stack, progress.OfStack(cmd))))
	if err == nil {
		h.InfraGone()
	}
	return removed.Steps(), h.Save(err)
}
