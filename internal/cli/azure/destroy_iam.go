package azure

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewDestroyIAMCommand is destroy iam.
func NewDestroyIAMCommand() *cobra.Command {
	return command.Parent("iam", "Destroy the workload identities of a hosted cluster",
		newDestroyIAMAzureCommand())
}

func newDestroyIAMAzureCommand() *cobra.Command {
	var flags azureflags.Flags
	var o iam.Options
	var handoff azureflags.HandoffFile
	var guard useGuard
	var identities, dnsGroup string
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete the role assignments, the federated credentials and the managed identities",
		Example: `  hypershift destroy iam azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --resource-group-name os4-common --workload-identities-file workload-identities.json --dns-zone-rg-name os4-common
  hypershift destroy iam azure --from demo.yaml --azure-creds azure-credentials.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var clients *identity.WorkloadIdentities
			if identities != "" {
				var err error
				if clients, err = identity.ReadWorkloadIdentities(identities); err != nil {
					return err
				}
			}
			if err := handoff.MustOpen(); err != nil {
				return err
			}
			handoff.Complete(cmd, &flags, &o.Name, &o.InfraID)
			if from := handoff.Identities; from != nil {
				o.ResourceGroup = cmp.Or(o.ResourceGroup, from.ResourceGroup)
				if clients == nil {
					clients = from.Clients
				}
			}
			if dnsGroup != "" {
				o.Roles = &iam.RoleScopes{ResourceGroup: node.MainGroup(o.Name, o.InfraID), DNSZoneGroup: dnsGroup}
			}
			if err := requireIAM(o); err != nil {
				return err
			}
			what, used := "the identities of infrastructure id "+o.InfraID, ofIdentities(o.InfraID, clients)
			return azureflags.WithPlan(cmd, &flags,
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := guard.allow(cmd, what, true, used); err != nil {
						return nil, err
					}
					return iam.PlanDestroy(ctx, s, o)
				},
				func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
					if err := guard.allow(cmd, what, false, used); err != nil {
						return nil, err
					}
					return destroyIAM(ctx, cmd, s, &flags, o, &handoff)
				}, nil)
		},
	}
	flags.Add(cmd)
	flags.AddPlan(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	f.StringVar(&o.InfraID, "infra-id", "", "infrastructure id")
	f.StringVar(&o.ResourceGroup, "resource-group-name", "", "resource group of the identities")
	f.StringVar(&identities, "workload-identities-file", "", "identities file; checked, not used to choose what goes")
	f.StringVar(&dnsGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone, where the ingress identity has a role; found by itself where the subscription may be listed")
	guard.add(cmd)
	handoff.AddRead(cmd)
	return cmd
}

// requireIAM names all that is missing, in one order.
func requireIAM(o iam.Options) error {
	var missing []string
	for _, f := range []struct{ flag, value string }{{"--name", o.Name}, {"--infra-id", o.InfraID}, {"--resource-group-name", o.ResourceGroup}} {
		if f.value == "" {
			missing = append(missing, f.flag)
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is required, or a --from file that has it", missing[0])
	}
	return fmt.Errorf("%s are required, or a --from file that has them", strings.Join(missing, ", "))
}

func destroyIAM(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o iam.Options, h *azureflags.HandoffFile) ([]stack.Step, error) {
	var removed azureflags.Removals
	if err := h.Begin(s, flags, o.Name, o.InfraID); err != nil {
		return nil, err
	}
	err := iam.Destroy(ctx, s, o, removed.Note(h.KeepTrue(iam.Stack, progress.OfStack(cmd))))
	if err == nil {
		h.Identities = nil
		h.Forget(iam.Stack)
	}
	return removed.Steps(), h.Save(err)
}
