package infraflags

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// AddDestroy say how far a destroy may go beyond what carries our tag.
func AddDestroy(f *pflag.FlagSet, o *infra.DestroyOptions) {
	f.BoolVar(&o.Adopt, "adopt", false, "also delete infrastructure that has this cluster's names but not our tag, as other tools make it; the list is shown first")
	f.BoolVar(&o.KeepVolumes, "keep-volumes", false, "keep disks and snapshots of volumes that the hosted cluster has not removed, such as those that say Retain, and the resource group that they are in")
	f.BoolVar(&o.DeleteResourceGroup, "delete-resource-group", false, "delete the main resource group with everything in it even where it is not ours")
}

// ShowAdopted lists what is taken for ours.
func ShowAdopted(cmd *cobra.Command) func(infra.Adoption) {
	return func(a infra.Adoption) {
		what := "what has this cluster's names in resource group " + a.Group + ":"
		if a.Whole {
			what = "resource group " + a.Group + "; it goes with:"
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "adopting "+what)
		for _, id := range a.Resources {
			fmt.Fprintln(cmd.ErrOrStderr(), "  "+id)
		}
	}
}
