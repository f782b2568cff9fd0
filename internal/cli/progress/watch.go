package progress

import (
	"fmt"
	"time"
)

// stillEvery is how often a person is told that nothing has changed.
const stillEvery = 30 * time.Second

// Watch tells what is waited for whenever it changes, and now and then that it is the same still, with the time that is left.
type Watch struct {
	say         func(format string, args ...any)
	limit       time.Duration
	begun, told time.Time
	last        string
}

// NewWatch begins to wait; a limit of 0 is none.
func NewWatch(say func(format string, args ...any), limit time.Duration) *Watch {
	return &Watch{say: say, limit: limit, begun: time.Now()}
}

// Last is what was seen last; "" before that.
func (w *Watch) Last() string { return w.last }

// Saw takes the state in one sentence; an empty one says nothing.
func (w *Watch) Saw(state string) {
	now := time.Now()
	switch {
	case state == "":
		return
	case state != w.last:
		w.say("%s", state)
	case now.Sub(w.told) >= stillEvery:
		w.say("%s (%s)", state, w.times(now))
	default:
		return
	}
	w.last, w.told = state, now
}

func (w *Watch) times(now time.Time) string {
	words := "for " + minutes(now.Sub(w.begun)) + " now"
	if left := w.limit - now.Sub(w.begun); left > 0 {
		words += ", " + minutes(left) + " left"
	}
	return words
}

// minutes is a time to the second, and to the minute where it is long.
func minutes(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
}
