package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// judge refuses the values of flags that mean the same in every command, before a cluster or Azure is asked anything.
func judge(cmd *cobra.Command, _ []string) error {
	if f := cmd.Flag("cloud"); f != nil && f.Changed {
		if err := azureflags.CheckCloud(f.Value.String()); err != nil {
			return err
		}
	}
	f := cmd.Flag("output")
	if f == nil || !f.Changed {
		return nil
	}
	switch {
	case strings.Contains(f.Usage, "wide, json or yaml"):
		return printing.CheckTableFormat(f.Value.String())
	case strings.Contains(f.Usage, "json or yaml"):
		return printing.CheckFormat(f.Value.String())
	}
	return nil
}
