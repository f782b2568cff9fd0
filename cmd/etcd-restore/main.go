// etcd-restore begins an etcd with a snapshot. It is a program of its own, in the control-plane-operator's image: with etcd's library in
// it, every helper of a control plane would be heavier.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/snapshot"
)

func main() {
	var options snapshot.Options
	command := &cobra.Command{
		Use: "etcd-restore", Short: "Begin an etcd with a snapshot", Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return snapshot.Run(cmd.Context(), options) },
	}
	options.AddFlags(command.Flags())
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "etcd-restore:", err)
		os.Exit(1)
	}
}
