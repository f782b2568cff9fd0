package pace

import (
	"testing"
	"time"
)

func profile(t *testing.T, name string, operation time.Duration, scale float64) Profile {
	t.Helper()
	p, err := New(name, operation, scale)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTimesOfOperations(t *testing.T) {
	if _, err := New("slow", 0, 0); err == nil {
		t.Error("a profile that is not")
	}
	const vm = "Microsoft.Compute/virtualMachines"
	for name, c := range map[string]struct {
		profile   Profile
		verb, typ string
		want      time.Duration
	}{
		"fast":                         {profile(t, Fast, 7*time.Millisecond, 0), "write", vm, 7 * time.Millisecond},
		"nothing at all":               {Profile{}, "delete", vm, 0},
		"a machine is made":            {profile(t, Realistic, 0, 0), "write", vm, 8 * time.Second},
		"and deleted":                  {profile(t, Realistic, 0, 0), "delete", vm, 6 * time.Second},
		"and restarted":                {profile(t, Realistic, 0, 0), "action", vm, 4 * time.Second},
		"case does not count":          {profile(t, Realistic, 0, 0), "write", "MICROSOFT.COMPUTE/DISKS", 2 * time.Second},
		"half of it":                   {profile(t, Realistic, 0, 0.5), "write", vm, 4 * time.Second},
		"a type nobody looked at":      {profile(t, Realistic, 0, 0), "write", "Microsoft.Network/routeTables", time.Second},
		"a group is there at once":     {profile(t, Realistic, 0, 0), "write", "Microsoft.Resources/resourceGroups", 0},
		"the fast one's time is fixed": {profile(t, Fast, time.Second, 0.5), "write", vm, time.Second},
	} {
		if got := c.profile.Operation(c.verb, c.typ); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What spreads stays unseen for at least the shortest time, for no longer than the longest, and as long for each who asks.
func TestWhatSpreads(t *testing.T) {
	p := profile(t, Realistic, 0, 0)
	for kind, s := range spreads {
		seen := map[bool]int{}
		for i := range 50 {
			moment := time.Duration(i) * time.Microsecond
			if !p.Hides(kind, time.Now().Add(time.Second-s.from+moment)) {
				t.Errorf("%s: seen before %v", kind, s.from)
			}
			if p.Hides(kind, time.Now().Add(-s.to-moment)) {
				t.Errorf("%s: unseen after %v", kind, s.to)
			}
			middle := time.Now().Add(-(s.from + s.to) / 2).Add(moment)
			first := p.Hides(kind, middle)
			seen[first]++
			if again := p.Hides(kind, middle); again && !first {
				t.Errorf("%s: seen, and then not", kind)
			}
		}
		if len(seen) != 2 {
			t.Errorf("%s takes as long each time", kind)
		}
		if p.Hides(kind, time.Time{}) || (Profile{}).Hides(kind, time.Now()) || profile(t, Fast, 0, 0).Hides(kind, time.Now()) {
			t.Errorf("%s: unseen without a time, or in the fast profile", kind)
		}
	}
}

func TestOtherTimes(t *testing.T) {
	realistic, fast, quick := profile(t, Realistic, 0, 0), profile(t, Fast, 0, 0), profile(t, Realistic, 0, 0.1)
	if !realistic.Deferred() || fast.Deferred() {
		t.Error("only the realistic profile defers")
	}
	if realistic.Refusal() != 3*time.Second || fast.Refusal() != 0 || quick.Refusal() != 300*time.Millisecond {
		t.Error("how long a refusal is remembered")
	}
	if realistic.KeyCache() != 10*time.Second || fast.KeyCache() != 0 {
		t.Error("how long keys are kept")
	}
	if realistic.Guest() != 20*time.Minute || fast.Guest() != 4*time.Minute || quick.Guest() != 2*time.Minute {
		t.Error("how long a guest may take")
	}
}
