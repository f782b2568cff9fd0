package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewCreateInfraCommand is create infra.
func NewCreateInfraCommand() *cobra.Command {
	return command.Parent("infra", "Create the cloud infrastructure of a hosted cluster",
		newCreateInfraAzureCommand())
}

// infraFlags are the flags of create infra azure as typed.
type infraFlags struct {
	azureflags.Flags
	infra                          infra.Options
	handoff                        azureflags.HandoffFile
	managed                        infraflags.Managed
	workloadIdentities, outputFile string
	disabledCapabilities           []string
}

func newCreateInfraAzureCommand() *cobra.Command {
	f := &infraFlags{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Resource groups, network, private DNS zone, load balancer, role assignments",
		Example: `  hypershift create infra azure --name demo --infra-id demo-x7k2p --azure-creds azure-credentials.json \
    --base-domain example.com --workload-identities-file workload-identities.json \
    --assign-identity-roles --dns-zone-rg-name os4-common --output-file infra.yaml
  hypershift create infra azure --base-domain example.com --assign-identity-roles --azure-creds azure-credentials.json --handoff demo.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.fill(cmd); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	f.Flags.Add(cmd)
	f.AddPlan(cmd)
	flags, o := cmd.Flags(), &f.infra
	flags.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	flags.StringVar(&o.InfraID, "infra-id", "", "infrastructure id")
	flags.StringVar(&o.BaseDomain, "base-domain", "", "name of an existing public DNS zone of the subscription")
	flags.StringVar(&o.ResourceGroup, "resource-group-name", "", "existing resource group to use for everything")
	flags.StringToStringVarP(&o.Tags, "resource-group-tags", "t", nil, "tags of the resource groups made")
	infraflags.AddBrought(flags, o)
	infraflags.AddAppsZone(flags, o)
	flags.StringVar(&f.workloadIdentities, "workload-identities-file", "", "client ids written by create iam azure")
	f.managed.Add(flags, o)
	flags.StringSliceVar(&f.disabledCapabilities, "disable-cluster-capabilities", nil, "parts that the cluster goes without; without ImageRegistry its identity needs no role")
	flags.BoolVar(&o.AssignRoles, "assign-identity-roles", false, "give the identities their roles")
	flags.StringVar(&o.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone")
	flags.StringVar(&f.outputFile, "output-file", "", "file to write the result to (mode 0600)")
	f.handoff.AddWritten(cmd)
	return cmd
}

// fill completes the options and checks them, before any call is made.
func (f *infraFlags) fill(cmd *cobra.Command) error {
	if err := f.handoff.OpenWritten(); err != nil {
		return err
	}
	o := &f.infra
	f.handoff.Complete(cmd, &f.Flags, &o.Name, &o.InfraID)
	f.handoff.ContinueInfra(o)
	o.Location, o.NoImageRegistry = f.Location, slices.Contains(f.disabledCapabilities, infraflags.ImageRegistryCapability)
	if err := f.managed.Check(f.workloadIdentities); err != nil {
		return err
	}
	if err := f.managed.Load(o); err != nil {
		return err
	}
	if err := errors.Join(o.Missing(), infraIdentities(o, f.workloadIdentities, f.handoff.Identities)); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if err := flagfile.CheckWritable("--output-file", f.outputFile); err != nil {
		return err
	}
	infraflags.WarnUnguarded(*o, progress.Line(cmd))
	return nil
}

func (f *infraFlags) run(cmd *cobra.Command) error {
	return azureflags.WithPlan(cmd, &f.Flags,
		func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
			return infra.Plan(ctx, s, f.infra)
		},
		func(ctx context.Context, s *azure.Session) (*infra.Output, error) {
			out, err := createInfra(ctx, cmd, s, &f.Flags, f.infra, &f.handoff)
			if err != nil || f.outputFile == "" {
				return out, err
			}
			return out, out.Write(f.outputFile)
		},
		func(w io.Writer, _ *infra.Output) error {
			if f.outputFile == "" {
				return nil
			}
			_, err := fmt.Fprintln(w, f.outputFile)
			return err
		})
}

// infraIdentities are those of the file, or of the hand-off.
func infraIdentities(o *infra.Options, path string, from *handoff.Identities) error {
	if o.Managed != nil {
		return nil
	}
	if path == "" && from != nil {
		o.Identities = from.Clients
		return nil
	}
	if path == "" {
		return errors.New("--workload-identities-file is required; `hypershift create iam azure` writes it")
	}
	var err error
	o.Identities, err = identity.ReadWorkloadIdentities(path)
	return err
}

func createInfra(ctx context.Context, cmd *cobra.Command, s *azure.Session, flags *azureflags.Flags, o infra.Options, h *azureflags.HandoffFile) (*infra.Output, error) {
	if err := h.Begin(s, flags, o.Name, o.InfraID); err != nil {
		return nil, err
	}
	h.BeginInfra(s, o)
	out, err := infra.Create(ctx, s, o, h.KeepTrue(infra.Stack, progress.OfStack(cmd)))
	if err != nil {
		return nil, h.Abandon(err)
	}
	h.EndInfra(o, out)
	return out, h.Save(nil)
}
