package listing

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
)

// A list that the kernel interrupts is asked for again, for a while; another failure is told at once.
func TestInterruptedListsAreAskedForAgain(t *testing.T) {
	denied, interrupted := errors.New("denied"), fmt.Errorf("links: %w", netlink.ErrDumpInterrupted)
	for name, c := range map[string]struct {
		interruptions, asked int
		then, told           error
		list                 []string
	}{
		"at once":                {0, 1, nil, nil, []string{"lo", "eth0"}},
		"the third time":         {2, 3, nil, nil, []string{"lo", "eth0"}},
		"the last time":          {attempts - 1, attempts, nil, nil, []string{"lo", "eth0"}},
		"without an end":         {attempts, attempts, nil, netlink.ErrDumpInterrupted, []string{"lo"}},
		"denied":                 {0, 1, denied, denied, nil},
		"denied the second time": {1, 2, denied, denied, nil},
	} {
		asked := 0
		got, err := Complete(func() ([]string, error) {
			asked++
			switch {
			case asked <= c.interruptions:
				return []string{"lo"}, interrupted
			case c.then != nil:
				return nil, c.then
			}
			return []string{"lo", "eth0"}, nil
		})
		if asked != c.asked || !errors.Is(err, c.told) || !slices.Equal(got, c.list) {
			t.Errorf("%s: asked %d times, %v, %v", name, asked, got, err)
		}
	}
}
