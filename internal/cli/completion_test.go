package cli

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// TestEverythingLiveIsCompleted: wherever a person types the name of something that is there, or one of the values that there are, the tab key offers
// them.
func TestEverythingLiveIsCompleted(t *testing.T) {
	live := []string{"cluster-name", "cluster", "location", "instance-type"}
	// These name what is there; --name of others names what is made, or says which parts of Azure are meant.
	acting := map[string]string{"hypershift destroy cluster azure": "name", "hypershift create kubeconfig": "name", "hypershift console-logs azure": "name", "hypershift destroy nodepool": "name", "hypershift destroy nodepool azure": "name", "hypershift upgrade cluster": "to", "hypershift upgrade nodepool": "to"}
	found := 0
	everyCommand(completed(), func(cmd *cobra.Command) {
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

// completed is the command line as the tab key asks it.
func completed() *cobra.Command {
	root := NewRoot()
	completeFlags(root)
	return root
}

// TestChoicesAreOffered: each value of a flag that takes one of a few is offered wherever the flag is, and said in its help; a cloud is one that there is.
func TestChoicesAreOffered(t *testing.T) {
	found := map[string]bool{}
	everyCommand(completed(), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			values := choices[f.Name]
			offered, ok := cmd.GetFlagCompletionFunc(f.Name)
			if f.Name == "namespace" && strings.Contains(f.Usage, "hosted cluster") && !ok {
				t.Errorf("%s: no namespace is offered", cmd.CommandPath())
			}
			if values == nil || f.Hidden {
				return
			}
			found[f.Name] = true
			if !ok {
				t.Errorf("%s: nothing is offered for --%s", cmd.CommandPath(), f.Name)
				return
			}
			got, _ := offered(cmd, nil, "")
			for _, value := range values {
				if !slices.Contains(got, value) || f.Name != "cloud" && !strings.Contains(f.Usage, value) {
					t.Errorf("%s --%s: %q of %q, which is for %s", cmd.CommandPath(), f.Name, value, got, f.Usage)
				}
			}
		})
	})
	for name := range choices {
		if !found[name] {
			t.Errorf("no command has --%s", name)
		}
	}
	for _, cloud := range choices["cloud"] {
		if _, err := azure.NewSession(azure.Credentials{SubscriptionID: clitest.UUID, TenantID: clitest.UUID, ClientID: clitest.UUID, ClientSecret: "s"}, cloud); err != nil {
			t.Errorf("--cloud %s: %v", cloud, err)
		}
	}
}

// TestNamespacesAreOffered: those that have hosted clusters.
func TestNamespacesAreOffered(t *testing.T) {
	var asked atomic.Int32
	fleetServer(t, 3, &asked)
	var out, messages bytes.Buffer
	if status := Main([]string{"__complete", "status", "--namespace", ""}, &out, &messages); status != 0 || out.String() != "clusters\n:4\n" {
		t.Errorf("%d %q %s", status, out.String(), messages.String())
	}
}
