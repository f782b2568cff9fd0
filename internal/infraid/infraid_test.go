package infraid

import (
	"regexp"
	"strings"
	"testing"
)

func TestInfraID(t *testing.T) {
	shape := regexp.MustCompile(`^[a-z0-9-]{0,21}-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	for name, want := range map[string]string{
		"demo":                           "demo-",
		"my.Cluster":                     "my-cluster-",
		"a..b":                           "a-b-",
		"a.b..c":                         "a-b-c-",
		"-a":                             "a-",
		"abcdefghijklmnopqrst.vwxyz":     "abcdefghijklmnopqrst-",
		"abcdefghijklmnopqrstuvwxyz0123": "abcdefghijklmnopqrstu-",
		"a-very-long-name-for-a-cluster": "a-very-long-name-for-",
	} {
		got := New(name)
		if !strings.HasPrefix(got, want) || len(got) != len(want)+5 || len(got) > 27 || !shape.MatchString(got) {
			t.Errorf("New(%q) = %q, want %q and five random characters", name, got, want)
		}
	}
	if one, other := New("demo"), New("demo"); one == other {
		t.Error("two clusters of one name get one identifier")
	}
}
