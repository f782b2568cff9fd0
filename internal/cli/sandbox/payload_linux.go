package sandbox

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/version"
	"github.com/hypershift-on-azure/hypershift/sandbox"
)

// sandboxPayload has the commands for releases beside the one that every sandbox has.
func sandboxPayload(dir *string) *cobra.Command {
	return command.Parent("payload", "Publish further releases in the sandbox's registry", sandboxPayloadPublish(dir))
}

func sandboxPayloadPublish(dir *string) *cobra.Command {
	var o sandbox.Options
	var twin bool
	cmd := &cobra.Command{
		Use:     "publish RELEASE",
		Short:   "Build a release and publish it in the sandbox's registry: " + strings.Join(sandbox.Payloads(), ", "),
		Example: "  hypershift sandbox payload publish 4.21.1\n  hypershift sandbox payload publish --twin 4.22.0",
		Long: `Build a release and publish it in the sandbox's registry.

The reference for --release-image is printed. Another Kubernetes than the sandbox's is compiled first, which takes minutes, once.

With --twin the release is a twin of an OpenShift payload: it has OpenShift's images and manifests by name, programs of the community where
there are any, and else checkers, which judge how they are started and leave the work out. It is for trying what this project makes of such a
payload, and shows nothing of OpenShift itself. RELEASE is then a version of ` + strings.Join(sandbox.TwinMinors(), ", ") + `.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := sandbox.LeaveInternet(); err != nil {
				return err
			}
			o.Dir, o.Version, o.Step = *dir, version.Version, stepPrinter(cmd.ErrOrStderr())
			publish := sandbox.PublishPayload
			if twin {
				publish = sandbox.PublishTwin
			}
			reference, err := publish(ctx, o, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), reference)
			return err
		},
	}
	cmd.Flags().BoolVar(&twin, "twin", false, "publish a twin of an OpenShift payload of the version")
	cmd.Flags().StringVar(&o.Cache, "cache", "", "directory of built parts (default $HYPERSHIFT_CACHE or the user's cache)")
	return cmd
}
