//go:build !linux

package sandbox

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// NewCommand is sandbox, which is refused on this operating system.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:     commandName,
		Short:   summary + " (Linux only)",
		Example: "  hypershift sandbox up",
		// Whatever is typed after it is refused for the same reason.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("`%s` needs Linux, whose namespaces and containers it is made of, and this is %s; run it on a Linux machine; all other commands work here", cmd.CommandPath(), runtime.GOOS)
		},
	}
}
