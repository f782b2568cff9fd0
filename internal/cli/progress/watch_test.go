package progress

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: each state once, then now and then that it is the same still, for how long, and how long it is waited for.
func TestWatch(t *testing.T) {
	for limit, want := range map[time.Duration]string{
		10 * time.Minute: "one|one (for 30 s now, 10 min left)|two|two (for 90 s now, 9 min left)|two (for 2 min now, 8 min left)",
		0:                "one|one (for 30 s now)|two|two (for 90 s now)|two (for 2 min now)",
	} {
		synctest.Test(t, func(t *testing.T) {
			var said []string
			w := NewWatch(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }, limit)
			if w.Last() != "" {
				t.Errorf("last is %q", w.Last())
			}
			for second := range 125 {
				switch {
				case second < 60:
					w.Saw("one")
				case second%10 == 3:
					w.Saw("")
				default:
					w.Saw("two")
				}
				time.Sleep(time.Second)
			}
			if got := strings.Join(said, "|"); got != want || w.Last() != "two" {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
