package names

import (
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	for text, want := range map[string]string{"": "811c9dc5", "a": "e40c292c", "foobar": "bf9cf968"} {
		if got := Hash(text); got != want {
			t.Errorf("Hash(%q) = %s, want %s", text, got, want)
		}
	}
	if HashBytes([]byte(`{"a`)) != Hash("[123 34 97]") {
		t.Error("bytes are not hashed as their printed list")
	}
}

func TestResourceLabel(t *testing.T) {
	long := strings.Repeat("p", 33)
	for _, test := range []struct{ infra, cluster, pool, want string }{
		{"demo-x7k2p", "demo", "np", "demo-x7k2p-demo-np"},
		{"averylongclustername-x7k2p", "averylongclustername", "pool", "averylongclustername-x7k2p-av-" + Hash("averylongclustername-x7k2p-averylongclustername") + "-pool"},
		{"averylongclustername-x7k2p", "averylongclustername", long, "averylongclustername-x7k2p-averylo"[:34] + "-" + Hash("averylongclustername-x7k2p-averylongclustername-"+long)},
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
