package names

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

func TestResourceLabel(t *testing.T) {
	long := strings.Repeat("p", 33)
	for _, test := range []struct{ infra, cluster, pool, want string }{
		{"demo-x7k2p", "demo", "np", "demo-x7k2p-demo-np"},
		{"averylongclustername-x7k2p", "averylongclustername", "pool", "averylongclustername-x7k2p-av-" + ignition.Hash("averylongclustername-x7k2p-averylongclustername") + "-pool"},
		{"averylongclustername-x7k2p", "averylongclustername", long, "averylongclustername-x7k2p-averylo"[:34] + "-" + ignition.Hash("averylongclustername-x7k2p-averylongclustername-"+long)},
	} {
		got := ResourceLabel(test.infra, test.cluster, test.pool)
		if got != test.want {
			t.Errorf("%s: got %s (%d), want %s (%d)", test.pool, got, len(got), test.want, len(test.want))
		}
		if len(got) > maxResourceLabel {
			t.Errorf("%s has %d characters", got, len(got))
		}
	}
}
