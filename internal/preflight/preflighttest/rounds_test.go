package preflighttest

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type slow time.Duration

func (s slow) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(s))
	return &http.Response{Body: http.NoBody}, nil
}

// TestRounds: calls at once are one round, those one after the other as many as they are, however slow some answers are.
func TestRounds(t *testing.T) {
	for _, tc := range []struct{ together, after, rounds int }{{1, 0, 1}, {9, 0, 1}, {9, 3, 4}} {
		synctest.Test(t, func(t *testing.T) {
			r := &Rounds{Next: slow(time.Minute)}
			call := func() {
				answer, err := r.RoundTrip(nil)
				if err != nil {
					t.Error(err)
					return
				}
				answer.Body.Close()
			}
			var all sync.WaitGroup
			for range tc.together {
				all.Go(call)
			}
			for range tc.after {
				time.Sleep(time.Second)
				call()
			}
			all.Wait()
			if rounds, calls := r.Counted(); rounds != tc.rounds || calls != tc.together+tc.after {
				t.Errorf("%+v: %d rounds of %d calls", tc, rounds, calls)
			}
		})
	}
}
