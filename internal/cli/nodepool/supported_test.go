package nodepool

import (
	"bytes"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

func createsPool(t *testing.T, line []string) clitest.Made {
	t.Helper()
	f := &nodePoolFlags{releases: clitest.Releases{}}
	flags := pflag.NewFlagSet("nodepool", pflag.ContinueOnError)
	f.addAll(flags)
	if err := flags.Parse(line); err != nil {
		t.Fatal(err)
	}
	f.ClusterName = "demo"
	var out clitest.Made
	if out.Err = f.Validate(); out.Err == nil {
		f.render = true
		var objects, messages bytes.Buffer
		out.Err = f.run(t.Context(), clitest.Client(withPullSecret(clitest.HostedCluster("demo", true))...), &objects, &messages)
		out.Objects, out.Messages = objects.String(), messages.String()
	}
	return out
}

// What the table says of the flags of create nodepool azure is so.
func TestPoolFlagsAct(t *testing.T) { clitest.FlagsAct(t, "create nodepool azure", createsPool) }

func TestPoolFlagsAreRefused(t *testing.T) {
	clitest.FlagsAreRefused(t, "create nodepool azure", createsPool)
}
