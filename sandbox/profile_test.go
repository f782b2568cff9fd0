package sandbox

import (
	"slices"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// The profile of --azure-profile is recorded with the parts, stays until another one is asked for, and is the realistic one at first.
func TestAzureProfile(t *testing.T) {
	var plan supervise.Plan
	for _, step := range []struct{ asked, want string }{{"", "realistic"}, {"fast", "fast"}, {"", "fast"}, {"realistic", "realistic"}, {"", "realistic"}} {
		profile, err := chooseProfile(plan, step.asked)
		if err != nil || profile != step.want {
			t.Fatalf("asked for %q: %q, %v, want %q", step.asked, profile, err, step.want)
		}
		part := cluster.Config{Dir: t.TempDir(), AzureProfile: profile}.AzurePart(true)
		if at := slices.Index(part.Argv, "--azure-profile"); at < 0 || part.Argv[at+1] != profile {
			t.Errorf("the part is started with %v", part.Argv)
		}
		plan = supervise.Plan{Parts: []supervise.Part{part}}
	}
	if _, err := chooseProfile(plan, "slow"); err == nil {
		t.Error("an unknown profile is taken")
	}
}
