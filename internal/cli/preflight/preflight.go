// Package preflight has the command that looks before anything is made.
package preflight

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/checklist"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

// managementFlags are the flags of preflight management.
type managementFlags struct {
	preflight.Needs
	list       checklist.Flags
	kubeconfig string
}

// NewCommand is preflight, with the looks at other things than the management cluster.
func NewCommand(others ...*cobra.Command) *cobra.Command {
	return command.Parent("preflight", "Look for what would keep a hosted cluster from working, before anything is made", append(others, newManagementCommand())...)
}

func newManagementCommand() *cobra.Command {
	f := &managementFlags{}
	cmd := &cobra.Command{
		Use:   "management",
		Short: "Look at the management cluster: kinds, operator, your rights, storage, room and zones",
		Long: `Looks whether the management cluster can take a hosted cluster, and writes nothing. Exit status 1 when a check fails, also when one warns with
--strict. What was made in Azure is looked at by ` + "`hypershift verify azure`.",
		Example: `  hypershift preflight management
  hypershift preflight management --highly-available --etcd-storage-class managed-csi -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := printing.CheckFormat(f.list.Output); err != nil {
				return err
			}
			c, err := management.NewClient(f.kubeconfig)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Namespace, "namespace", "n", management.ClustersNamespace, "namespace in which the hosted cluster is to be made")
	flags.StringVar(&f.Operator, "operator-namespace", management.OperatorNamespace, "namespace of the operator")
	flags.StringVar(&f.StorageClass, "etcd-storage-class", "", "storage class that the hosted cluster will name; the default one when empty")
	flags.BoolVar(&f.HighlyAvailable, "highly-available", false, "look for room and zones for three replicas")
	f.list.Add(cmd)
	management.AddKubeconfig(cmd, &f.kubeconfig)
	return cmd
}

func (f *managementFlags) run(ctx context.Context, c client.Client, out io.Writer) error {
	checks, err := preflight.Management(ctx, c, f.Needs)
	if err != nil {
		return err
	}
	return f.list.Print(out, checks)
}
