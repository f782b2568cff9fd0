package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/provision"
)

// addDestroyFlags say how far a destroy may go beyond what carries our tag.
func addDestroyFlags(f *pflag.FlagSet, o *provision.DestroyOptions) {
	f.BoolVar(&o.Adopt, "adopt", false, "also delete infrastructure that has this cluster's names but not our tag, as other tools make it; the list is shown first")
	f.BoolVar(&o.DeleteResourceGroup, "delete-resource-group", false, "delete the main resource group with everything in it even where it is not ours")
}

// showAdopted lists what goes with a group that is adopted.
func showAdopted(cmd *cobra.Command) func(string, []string) {
	return func(group string, resources []string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "adopting resource group %s; it goes with:\n", group)
		for _, id := range resources {
			fmt.Fprintln(cmd.ErrOrStderr(), "  "+id)
		}
	}
}
