package replace

import (
	"errors"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	all := []string{"etcd-0", "etcd-1", "etcd-2"}
	ill := func(names ...string) map[string]error {
		found := map[string]error{}
		for _, name := range names {
			found[name] = errors.New("silent")
		}
		return found
	}
	for name, c := range map[string]struct {
		found  findings
		victim string
		says   string // of the error, "" for none
		final  bool
	}{
		"all take part":                     {findings{members: all}, "", "", false},
		"one cannot start":                  {findings{members: all, unhealthy: ill("etcd-1"), failing: []string{"etcd-1"}}, "etcd-1", "", false},
		"one was removed":                   {findings{members: all[:2], unhealthy: ill("etcd-2"), failing: []string{"etcd-2"}}, "etcd-2", "", false},
		"nobody answers":                    {findings{unheard: errors.New("no leader"), unhealthy: ill(all...)}, "", "the majority is lost", true},
		"one is left":                       {findings{members: all[:1]}, "", "counts 1 members", true},
		"two cannot start":                  {findings{members: all, unhealthy: ill("etcd-1", "etcd-2"), failing: all[1:]}, "", "etcd-1, etcd-2", true},
		"one was removed and another fails": {findings{members: all[:2], unhealthy: ill("etcd-1", "etcd-2"), failing: all[1:2]}, "", "etcd-1, etcd-2", true},
		"a change is rolled out":            {findings{members: all, unhealthy: ill("etcd-1"), failing: []string{"etcd-1"}, updating: true}, "", "rolled out", false},
		"another pod fails":                 {findings{members: all, unhealthy: ill("etcd-1"), failing: []string{"etcd-2"}}, "", "etcd-2", true},
		"more pods fail":                    {findings{members: all, unhealthy: ill("etcd-1"), failing: all[1:]}, "", "etcd-1, etcd-2", true},
		"its pod does not fail":             {findings{members: all, unhealthy: ill("etcd-1")}, "", "may only be slow", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.found.expected = all
			victim, err := c.found.judge()
			if victim != c.victim || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v; want %q, %q", victim, err, c.victim, c.says)
			}
			var unrecoverable *Unrecoverable
			if errors.As(err, &unrecoverable) != c.final {
				t.Errorf("final is %v: %v", !c.final, err)
			}
		})
	}
}
