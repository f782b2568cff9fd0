package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/version"
	"github.com/hypershift-on-azure/hypershift/sandbox"
)

func sandboxReset(dir *string) *cobra.Command {
	return command.Parent("reset", "Lose a part of the sandbox with its data, and begin it anew", sandboxResetManagement(dir))
}

func sandboxResetManagement(dir *string) *cobra.Command {
	o := sandbox.Options{}
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "management", Short: "Lose the management cluster, and begin an empty one",
		Long: `Lose the management cluster with everything in it, as if its machines were gone, and begin an empty one in its place.

Azure, what is in it, and the virtual machines live on, with all that runs on them: workers of hosted clusters go on without a control plane.
What the lost cluster had in Azure, load balancers for example, stays there, and nobody takes care of it. Certificates and
kubeconfig stay, and lead to the new cluster. "hypershift backup restore --management-file" takes hosted clusters over.`,
		Example: "  hypershift sandbox reset management",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready after %s (--timeout)", timeout))
			defer cancel()
			o.Dir, o.Version, o.Step = *dir, version.Version, stepPrinter(cmd.ErrOrStderr())
			return sandbox.ResetManagement(ctx, o)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 20*time.Minute, "give up after this time")
	cmd.Flags().StringVar(&o.Cache, "cache", "", "directory of built parts (default $HYPERSHIFT_CACHE or the user's cache)")
	return cmd
}
