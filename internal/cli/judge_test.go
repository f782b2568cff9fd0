package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// TestJudgedBeforeContact: no cluster is in reach, and what is typed wrong is told, with what was meant.
func TestJudgedBeforeContact(t *testing.T) {
	azure := " " + strings.Join(clitest.Inputs(t)[:2], " ")
	for _, tc := range []struct{ line, want string }{
		{"upgrade cluster demo --to 4.22", `--to "4.22" is not a version such as 4.22.1; did you mean 4.22.0?`},
		{"upgrade nodepool demo --to newest", `--to "newest" is not a version such as 4.22.1`},
		{"upgrade cluster demo --release-image Quay.io/A", `--release-image "Quay.io/A" is no reference`},
		{"wait cluster demo --for availabel", `or condition=TYPE[=STATUS]; did you mean available?`},
		{"wait nodepool demo --for available", `--for "available" is unknown; use ready,`},
		{"wait cluster demo --for condition=EtcdAvailabel", "a HostedCluster has no such condition; did you mean EtcdAvailable?"},
		{"wait nodepool demo --for condition=EtcdAvailable", "a NodePool has no such condition"},
		{"wait cluster demo --for condition=Available=Flase", "a condition is True, False, Unknown; did you mean False?"},
		{"logs etcd --since -1m", "--since -1m0s is negative"},
		{"destroy cluster azure --name demo --cloud AzurePublcCloud" + azure, "did you mean AzurePublicCloud?"},
		{"destroy cluster azure --name demo -o yml" + azure, `--output "yml" is unknown; use json or yaml; did you mean yaml?`},
		{"backup list demo -o jsn", "did you mean json?"},
		{"destroy nodepools --name x", `unknown command "nodepools" for "hypershift destroy"; did you mean nodepool?`},
		{"destroy nodepools", `unknown command "nodepools" for "hypershift destroy"; did you mean nodepool?`},
		{"destroy nodepool --namme x", "unknown flag: --namme; did you mean --name?"},
		{"destroy nodepool azrue --name x", `unknown command "azrue"`},
	} {
		status, stdout, stderr := run(t, strings.Fields(tc.line)...)
		if status != 1 || stdout != "" || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "cannot find the management cluster") {
			t.Errorf("%s: %d, %q, %q; want %q", tc.line, status, stdout, stderr, tc.want)
		}
	}
}

// Wherever there is --output or --cloud, a slip in it is refused before the command runs.
func TestEveryOutputAndCloudIsJudged(t *testing.T) {
	judged := map[string]int{}
	everyCommand(NewRoot(), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			slip, meant := "", ""
			switch {
			case f.Name == "cloud":
				slip, meant = "AzurePublcCloud", "AzurePublicCloud"
			case f.Name == "output" && strings.Contains(f.Usage, "yaml"):
				slip, meant = "yml", "yaml"
			default:
				return
			}
			judged[f.Name]++
			if err := cmd.Flags().Set(f.Name, slip); err != nil {
				t.Fatal(err)
			}
			err := cmd.Root().PersistentPreRunE(cmd, nil)
			if err == nil || !strings.Contains(err.Error(), "did you mean "+meant+"?") {
				t.Errorf("%s --%s %s: %v", cmd.CommandPath(), f.Name, slip, err)
			}
			_ = cmd.Flags().Set(f.Name, meant)
		})
	})
	if judged["output"] < 20 || judged["cloud"] < 10 {
		t.Errorf("%v were judged: this test proves nothing", judged)
	}
}
