package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEverythingLiveIsCompleted: wherever a person types the name of something that is there, or one of the values that there are, the tab key offers
// them.
func TestEverythingLiveIsCompleted(t *testing.T) {
	live := []string{"cluster-name", "cluster", "location", "instance-type"}
	// These name what is there; --name of others names what is made, or says which parts of Azure are meant.
	acting := map[string]string{"hypershift destroy cluster azure": "name", "hypershift create kubeconfig": "name", "hypershift console-logs azure": "name", "hypershift upgrade cluster": "to", "hypershift upgrade nodepool": "to"}
	found := 0
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if strings.HasPrefix(path, "hypershift sandbox ") {
			return // its machines are no management cluster's
		}
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && strings.Contains(cmd.Use, "NAME") {
			t.Errorf("%s: nothing is offered for %q", path, cmd.Use)
		}
		for _, name := range append(slices.Clone(live), acting[path]) {
			if flag := cmd.Flags().Lookup(name); flag == nil || flag.Hidden {
				continue
			}
			found++
			if _, ok := cmd.GetFlagCompletionFunc(name); !ok {
				t.Errorf("%s: nothing is offered for --%s", path, name)
			}
		}
	})
	if found < 10 {
		t.Errorf("%d flags found: this test proves nothing", found)
	}
}
